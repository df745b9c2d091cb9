/*
 * leaf_median.h - sums of absolute deviations from the median, of a group
 * that rows leave one by one.
 *
 * The rows that are left are a list by target; as a row leaves, the median
 * moves by a step or so along it, so that all sums of an order of rows take
 * time in proportion to their number.
 */
#ifndef HES_TREES_LEAF_MEDIAN_H
#define HES_TREES_LEAF_MEDIAN_H

#include <stddef.h>
#include <stdint.h>

struct median_entry {
	double   value;  /* from the middle of the loaded rows */
	double   sum;    /* weight x value */
	uint64_t weight;
};

/* Neighbours among the rows that are left; the list begins and ends with entries that are none. */
struct median_link {
	uint32_t before, after;
};

/* A group, and where its weighted lower median is: below it lies less than half of the weight. */
struct median_group {
	uint32_t at;
	uint64_t weight, below;  /* of all, of those before the median */
	double   sum, sum_below; /* of weight x value */
};

struct median {
	struct median_entry *entries; /* by rising target, from 1 */
	struct median_link  *links;   /* of the entries */
	uint32_t            *rank;    /* of each row */
	uint32_t             n;
	struct median_group  all;     /* before any row has gone */
};

/** @param max_rows  rows there are. @return 0 or -ENOMEM */
int  median_init(struct median *m, size_t max_rows);
void median_finish(struct median *m);
/** Take @n rows, one at least, sorted by target; @weight of each row: not 0. */
void median_load(struct median *m, const uint32_t *rows, uint32_t n, const double *y, const uint32_t *weight);
/**
 * @param rows  the loaded ones in any order
 * @param first first[k]: sum of deviations of the first k rows from their median, 0 < k <= n
 * @param rest  rest[k]: of all but the first k, k < n
 */
void median_sums(struct median *m, const uint32_t *rows, double *first, double *rest);

#endif
