/*
 * ensemble.h - regression trees in one plain form: the fitters make it, files store it, evaluation
 * reads it.
 *
 * Children come after their parent and siblings are adjacent, so every path through a tree ends.
 * The prediction of an output is base[output] + scale[output] * the sum over its trees of the leaf
 * that a row reaches. Scale is 1 / trees for averages and 1 for boosting.
 */
#ifndef HES_TREES_ENSEMBLE_H
#define HES_TREES_ENSEMBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ensemble_node {
	float value;   /* inner: a row goes left when its feature is <= value (may be infinite, not
			  NaN);   leaf: what it adds, finite */
	uint32_t left; /* inner: left child, counted from the tree's root; right is left + 1. Leaf:
			  0 */
	uint16_t feature;  /* of an inner node */
	bool missing_left; /* where a row without the feature goes */
};

struct ensemble_tree {
	size_t root; /* its first node; its nodes end where the next tree's begin */
	uint32_t n_nodes;
	uint32_t output;
};

struct ensemble {
	size_t n_features, n_outputs;
	double *base;                /* [n_outputs] */
	double *scale;               /* [n_outputs] */
	struct ensemble_tree *trees; /* by output, then in the order of fitting */
	size_t n_trees;
	struct ensemble_node *nodes;
	size_t n_nodes;
};

void ensemble_finish(struct ensemble *e);

/** Evaluate every tree for one row, node by node. */
void ensemble_predict(const struct ensemble *e, const float *row, double *out);

#endif
