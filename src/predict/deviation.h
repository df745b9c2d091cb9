/*
 * deviation.h - sums of absolute deviations from the median of two groups,
 * while rows move from the right group to the left one by one.
 *
 * Each group keeps its weight and weighted sum by rank of the target in a
 * Fenwick tree: a move and a sum take O(log n).
 */
#ifndef HES_PREDICT_DEVIATION_H
#define HES_PREDICT_DEVIATION_H

#include <stddef.h>
#include <stdint.h>

struct mass {
	double weight;
	double sum;      /* of weight x target */
};

struct deviation {
	size_t       n;
	size_t       top;        /* highest power of two that is not above n */
	double      *value;      /* of each rank, rising */
	struct mass *own;        /* of each rank */
	struct mass *left, *right, *whole; /* Fenwick trees, from 1 */
	struct mass  left_total, right_total, whole_total;
	uint32_t    *rank;       /* of each row */
};

/** @return 0 or -ENOMEM */
int    deviation_init(struct deviation *d, size_t max_rows);
void   deviation_finish(struct deviation *d);
/** Take @n rows that are sorted by target. */
void   deviation_load(struct deviation *d, const uint32_t *rows, size_t n, const double *y,
		      const double *weight);
/** Put all rows right. @return the sum of deviations of all of them */
double deviation_reset(struct deviation *d);
void   deviation_move(struct deviation *d, uint32_t row);
/** Of both groups, each from its own median. */
double deviation_sum(const struct deviation *d);
/** The weighted lower median of the loaded rows. */
double deviation_median(const struct deviation *d);

#endif
