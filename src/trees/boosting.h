/*
 * boosting.h - functions of many numbers, learnt from rows by gradient boosting (Friedman, 2001 and
 * 2002).
 *
 * This layer knows no GPUs or jobs. Missing values (NaN) are allowed in rows to learn from and in
 * rows to predict: each split learns a direction for them. Each output draws from its own random
 * stream, and the rows fix the order of every sum: the number of threads changes nothing.
 */
#ifndef HES_TREES_BOOSTING_H
#define HES_TREES_BOOSTING_H

#include "base/rng.h"
#include "trees/ensemble.h"

#define BOOSTING_MAX_ROWS 4000000

struct boosting_options {
	uint32_t trees; /* of each output */
	uint64_t seed;
	uint32_t threads;     /* 0: all processors */
	uint32_t min_leaf;    /* rows in a leaf at least, 1 and more */
	uint32_t max_leaves;  /* of a tree, best first, 2 and more */
	double learning_rate; /* 0 < rate <= 1 */
	double row_fraction;  /* rows drawn for a tree, 0 < f <= 1 */
};

/** Rows to learn from, owned by the caller. */
struct training_rows {
	const float *x;  /* column by column: x[feature * n + row]; NaN: missing */
	const double *y; /* output by output: y[output * n + row]; finite */
	size_t n;        /* 2..BOOSTING_MAX_ROWS */
	size_t n_features;
	size_t n_outputs; /* 1..ENSEMBLE_OUTPUTS */
};

/** The same seed gives the same trees, with any compiler. @return 0 or -ENOMEM */
int boosting_fit(const struct training_rows *rows, const struct boosting_options *o,
		 struct ensemble *out);

/** A tree until an ensemble has it. */
struct fitted_tree {
	struct ensemble_node *nodes;
	uint32_t n;
};

/**
 * Make an ensemble of trees, which stay the caller's.
 * @param trees  n_outputs x @each of them, output by output
 * @return 0 or -ENOMEM; base is 0
 */
int join_trees(const struct training_rows *rows, const struct fitted_tree *trees, size_t each,
	       struct ensemble *out);

/** Threads for @jobs pieces of work; @threads 0: all processors. */
int fit_threads(uint32_t threads, size_t jobs);

/** The cut between two neighbouring values: the lower one does not exceed it, the upper one does.
 */
static inline float cut_between(float low, float high)
{
	float mid = low / 2 + high / 2;

	return mid < high && mid >= low ? mid : low;
}

/** Uniform in [0, n), up to n / 2^32. */
static inline uint32_t draw_below(struct hes_rng *rng, uint32_t n)
{
	return (uint32_t)((hes_rng_u64(rng) >> 32) * n >> 32);
}

#endif
