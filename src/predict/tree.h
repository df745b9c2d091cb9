/*
 * tree.h - one regression tree: the engine under every ensemble.
 *
 * Exact splits over presorted features. Rows carry a count, so that a
 * bootstrap sample, all rows, or a subset are the same call; the target is
 * an argument, so that an ensemble may hand in residuals. The tree depends
 * on its arguments alone: ties go to the feature drawn first and to the
 * smallest threshold.
 */
#ifndef HES_PREDICT_TREE_H
#define HES_PREDICT_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "heshare/predict.h"

#define TREE_MAX_FEATURES 64
#define TREE_MAX_ROWS     4000000 /* a tree has fewer than 2^23 nodes */

/**
 * A row goes to child + 1 if its feature exceeds the threshold, else to
 * child. A leaf is its own child, compares the column that is never
 * greater, and keeps its value where others keep the threshold: walking
 * past it changes nothing, so that trees can be walked abreast.
 */
struct tree_node {
	float    threshold;
	uint32_t child   : 24; /* from the tree's root */
	uint32_t feature : 8;
};

/** A training matrix with each feature's order. Constant while trees grow. */
struct tree_data {
	float    *x;         /* column by column */
	uint32_t *order;     /* of each feature: rows by rising value, then by index */
	size_t    n_rows;
	size_t    n_features;
};

struct tree_options {
	enum hes_criterion criterion;
	uint32_t features_per_split; /* 1..n_features; features constant in a node do not count */
	uint32_t min_leaf;           /* distinct rows */
	uint32_t max_depth;          /* 0: no limit */
};

/** Memory to grow trees in; one a thread. */
struct tree_work;

/** Copy @x (column by column) and sort. @return 0 or -ENOMEM */
int  tree_data_init(struct tree_data *d, const float *x, size_t n_rows, size_t n_features);
void tree_data_finish(struct tree_data *d);

struct tree_work *tree_work_create(const struct tree_data *d);
void tree_work_destroy(struct tree_work *w);

/**
 * Grow a tree.
 * @param y      target of each row
 * @param count  how often each row counts; 0: not at all; at least one must not be 0
 * @return number of nodes, root first, in tree_work_nodes(w) until the next call
 */
size_t tree_grow(const struct tree_data *d, const double *y, const uint16_t *count,
		 const struct tree_options *o, struct hes_rng *rng, struct tree_work *w);
const struct tree_node *tree_work_nodes(const struct tree_work *w);

#endif
