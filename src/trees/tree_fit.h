/*
 * tree_fit.h - what the fitters of trees share: fitted trees, the builder of one tree, random
 * draws.
 *
 * extra_trees.c averages trees of random_tree.c; boosting.c adds trees of histogram_tree.c. Each
 * tree draws from its own random stream, and the rows fix the order of every sum. So the number of
 * threads changes nothing.
 */
#ifndef HES_TREES_TREE_FIT_H
#define HES_TREES_TREE_FIT_H

#include "base/rng.h"
#include "heshare/regressor.h"
#include "trees/ensemble.h"

/** A tree until the ensemble has it. */
struct fitted_tree {
	struct ensemble_node *nodes;
	uint32_t n;
};

/** A node that may be split: a range of rows. */
struct open_node {
	uint32_t node;
	uint32_t begin, end;
	uint32_t depth;
};

/** Memory to build one tree in. */
struct tree_builder {
	struct ensemble_node *nodes;
	uint32_t n_nodes;
	struct open_node *stack; /* nodes that may be split */
	size_t n_stack;
	uint32_t *features; /* in the order of the last draw */
	uint32_t *spare;    /* [rows] */
};

/** @return 0 or -ENOMEM; call builder_finish() in any case */
int builder_init(struct tree_builder *b, size_t n_rows, size_t n_features);
void builder_finish(struct tree_builder *b);
/** A tree with a root and no other node. */
void builder_start(struct tree_builder *b, size_t n_features);
/** Copy the tree. @return 0 or -ENOMEM */
int builder_take(const struct tree_builder *b, struct fitted_tree *out);

/** @return 0; -EINVAL rows that cannot be learned from */
int fit_check_rows(const struct hes_rows *rows, struct hes_err *err);

/** No option but threads has a default left. @return 0 or -ENOMEM */
int fit_extra_trees(const struct hes_rows *rows, const struct hes_regressor_options *o,
		    struct ensemble *out);
int fit_boosting(const struct hes_rows *rows, const struct hes_regressor_options *o,
		 struct ensemble *out);

/**
 * Make an ensemble of trees, which stay the caller's.
 * @param trees  n_outputs x at_most of them, output by output
 * @param count  trees of each output
 * @return 0 or -ENOMEM; base is 0, scale is 1
 */
int join_trees(const struct hes_rows *rows, const struct fitted_tree *trees, size_t at_most,
	       const size_t *count, struct ensemble *out);

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
