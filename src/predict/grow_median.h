/*
 * grow_median.h - sums of absolute deviations from the median, of a group
 * that rows leave one by one.
 *
 * The rows that are left are a list by target; as a row leaves, the median
 * moves by a step or so along it.
 */
#ifndef HES_PREDICT_GROW_MEDIAN_H
#define HES_PREDICT_GROW_MEDIAN_H

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
/** Take @n rows that are sorted by target. */
void median_load(struct median *m, const uint32_t *rows, uint32_t n, const double *y, const uint32_t *weight);
/**
 * Let the loaded rows leave one after the other.
 * @param step      1: rows[0] leaves first; -1: rows[n - 1]
 * @param deviation deviation[k]: of the rows that are left after k have gone, k < n
 */
void median_sweep(struct median *m, const uint32_t *rows, int step, double *deviation);

#endif
