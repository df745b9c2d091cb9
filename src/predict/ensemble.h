/*
 * ensemble.h - trees as they are grown, read and written: one plain form
 * between growing (grow*.c), walking (walk*.c) and files.
 *
 * Children come after their parent, siblings side by side, so that every
 * walk ends. A regressor's prediction of an output is
 *   base[output] + scale * sum over its trees of the leaf a row comes to,
 * with scale 1 / trees for averages and 1 for boosting.
 */
#ifndef HES_PREDICT_ENSEMBLE_H
#define HES_PREDICT_ENSEMBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ensemble_node {
	float    value;        /* inner: a row whose feature is <= value, which may be infinite but not NaN,
				  goes left; leaf: what it adds, finite */
	uint32_t left;         /* inner: left child, counted from the tree's root; right is left + 1. Leaf: 0 */
	uint16_t feature;      /* of an inner node */
	bool     missing_left; /* where a row without the feature goes */
};

struct ensemble_tree {
	size_t   root;      /* its first node; its nodes end where the next tree's begin */
	uint32_t n_nodes;
	uint32_t output;
};

struct ensemble {
	size_t                n_features, n_outputs;
	double               *base;   /* of each output */
	double               *scale;  /* of each output */
	struct ensemble_tree *trees;  /* by output, then in the order they were grown */
	size_t                n_trees;
	struct ensemble_node *nodes;
	size_t                n_nodes;
};

void ensemble_finish(struct ensemble *e);

/** Walk every tree, one node at a time: what any faster walk must agree with. */
void ensemble_predict(const struct ensemble *e, const float *row, double *out);

#endif
