/*
 * grow.h - rows to ensembles: what the growers share.
 *
 * forest.c bags trees of exact_tree.c (best cuts) or random_tree.c
 * (random cuts); boosting.c adds trees on histograms. Each tree draws from
 * a random stream of its own, and every sum is taken in an order that the
 * rows give, so that the number of threads changes nothing.
 */
#ifndef HES_TREES_GROW_H
#define HES_TREES_GROW_H

#include "base/rng.h"
#include "heshare/regressor.h"
#include "trees/ensemble.h"

/** A tree until the ensemble takes it over. */
struct grown {
	struct ensemble_node *nodes;
	float                *values; /* as in an ensemble's joint */
	uint32_t              n;
};

/** What a tree learns: one output, or all of them. */
struct grow_targets {
	const double *y;         /* output by output: y[o * n + row] */
	size_t        n;         /* rows */
	size_t        n_outputs;
	const double *even;      /* of several: row by row, so that no output drowns another (joint_outputs.c); else NULL */
};

/** A node that may still be split: a range of rows, the same in every order that a grower keeps. */
struct pending {
	uint32_t node;
	uint32_t begin, end;
	uint32_t depth;
};

/**
 * Forests, extra trees and the single tree. @o has no defaults left but threads.
 * @return 0 or -ENOMEM
 */
int grow_forest(const struct hes_rows *rows, const struct hes_regressor_options *o, struct ensemble *out);
int grow_boosting(const struct hes_rows *rows, const struct hes_regressor_options *o, struct ensemble *out);

/**
 * Join trees, which stay the caller's, to an ensemble.
 * @param trees  n_outputs x at_most of them, output by output
 * @param count  of each output, how many there are; joint ones are the first output's
 * @return 0 or -ENOMEM; base is 0, scale is 1
 */
int grow_join(const struct hes_rows *rows, const struct grown *trees, size_t at_most, const size_t *count,
	      struct ensemble *out);

void grown_finish(struct grown *g);

/** Threads to use for @jobs pieces of work; @asked 0: all processors. */
int grow_threads(uint32_t asked, size_t jobs);

/** The cut between two neighbouring values: the lower one does not exceed it, the upper one does. */
static inline float grow_cut_between(float low, float high)
{
	float mid = low / 2 + high / 2;

	return mid < high && mid >= low ? mid : low;
}

/** Uniform in [0, n) but for n / 2^32: drawn many times a node. */
static inline uint32_t grow_draw_below(struct hes_rng *rng, uint32_t n)
{
	return (uint32_t)((hes_rng_u64(rng) >> 32) * n >> 32);
}

#endif
