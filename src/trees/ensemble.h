/*
 * ensemble.h - regression trees: fitters make them, model files keep them, evaluation reads them.
 *
 * Children come after their parent and siblings are adjacent, so every path through a tree ends.
 * The prediction of an output is its base + the sum over its trees of the leaf that a row reaches.
 * Constant once made, so that any number of threads may share it.
 */
#ifndef HES_TREES_ENSEMBLE_H
#define HES_TREES_ENSEMBLE_H

#include "trees/model_io.h"

#define ENSEMBLE_OUTPUTS 16

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
	size_t n_outputs; /* 0: not fitted */
	double base[ENSEMBLE_OUTPUTS];
	struct ensemble_tree *trees; /* by output, then in the order of fitting */
	size_t n_trees;
	struct ensemble_node *nodes;
	size_t n_nodes;
};

void ensemble_finish(struct ensemble *e);

/** Evaluate every tree for one row, node by node. No allocation. @param out  [n_outputs] */
void ensemble_predict(const struct ensemble *e, const float *row, double *out);

/** Write an ensemble, or read one of @outputs whose rows have @features values: every count and
 * node is checked. */
void ensemble_io(struct model_io *io, struct ensemble *e, size_t outputs, size_t features);

#endif
