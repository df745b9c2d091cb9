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

/** Memory to fit in; of one thread. */
struct histogram_tree;

/** @param rows  of one tree at most */
struct histogram_tree *histogram_tree_create(const struct bins *b, const struct boosting_options *o,
					     size_t rows);
void histogram_tree_destroy(struct histogram_tree *t);

/**
 * Fit a tree, whose leaves add the mean residual of their rows times the learning rate, and
 * subtract what it predicts.
 * @param rows      n of them, to fit on
 * @param residual  of every row of the bins
 * @param out       free() its nodes
 * @return 0 or -ENOMEM
 */
int histogram_tree_fit(struct histogram_tree *t, const uint32_t *rows, size_t n, double *residual,
		       struct fitted_tree *out);

#endif
