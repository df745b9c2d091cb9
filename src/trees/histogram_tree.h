/*
 * histogram_tree.h - one tree of a boosted ensemble, on histograms: the leaf whose split gains most
 * is split next.
 *
 * Gradients are integers, so sums are exact: a child's histogram is exactly its parent's less its
 * sibling's, whatever the order of rows.
 */
#ifndef HES_TREES_HISTOGRAM_TREE_H
#define HES_TREES_HISTOGRAM_TREE_H

#include "trees/bins.h"
#include "trees/boosting.h"

#define HISTOGRAM_RIDGE \
	1.0 /* rows without gradient that each leaf is assumed to have besides its own */

struct histogram_node {
	struct ensemble_node node;
	uint32_t bin; /* inner: rows up to this bin of the feature go left */
};

/** The rows of a leaf. */
struct histogram_leaf {
	uint32_t node;
	uint32_t begin, end; /* of histogram_tree_rows() */
};

/** Memory to fit in; of one thread. */
struct histogram_tree;

/** @param rows  of one tree at most */
struct histogram_tree *histogram_tree_create(const struct bins *b, const struct boosting_options *o,
					     size_t rows);
void histogram_tree_destroy(struct histogram_tree *t);

/**
 * Fit a tree; the caller sets the values of its leaves.
 * @param rows      n of them, to fit on
 * @param gradient  of every row of the bins
 * @return 0 or -ENOMEM
 */
int histogram_tree_fit(struct histogram_tree *t, const uint32_t *rows, size_t n,
		       const double *gradient);

struct histogram_node *histogram_tree_nodes(struct histogram_tree *t, uint32_t *n);
const struct histogram_leaf *histogram_tree_leaves(const struct histogram_tree *t, size_t *n);
/** Rows; those of a leaf are adjacent and rise. */
const uint32_t *histogram_tree_rows(const struct histogram_tree *t);
/** The leaf that a row of the bins reaches. */
uint32_t histogram_tree_leaf_of(const struct histogram_tree *t, size_t row);

#endif
