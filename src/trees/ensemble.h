/*
 * ensemble.h - trees as they are grown, read and written: one plain form
 * between growing (grow*.c), walking (walk*.c) and files.
 *
 * Children come after their parent, siblings side by side, so that every
 * walk ends. A regressor's prediction of an output is
 *   base[output] + scale * sum over its trees of the leaf a row comes to,
 * with scale 1 / trees for averages and 1 for boosting.
 *
 * A tree is of one output, or all trees are joint: of every output, each
 * leaf with a value for each.
 */
#ifndef HES_TREES_ENSEMBLE_H
#define HES_TREES_ENSEMBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ensemble_node {
	float    value;        /* inner: a row whose feature is <= value, which may be infinite but not NaN,
				  goes left; leaf: what it adds, finite; of a joint tree 0 */
	uint32_t left;         /* inner: left child, counted from the tree's root; right is left + 1. Leaf: 0 */
	uint16_t feature;      /* of an inner node */
	bool     missing_left; /* where a row without the feature goes */
};

struct ensemble_tree {
	size_t   root;      /* its first node; its nodes end where the next tree's begin */
	uint32_t n_nodes;
	uint32_t output; /* of a joint one 0 */
};

struct ensemble {
	size_t                n_features, n_outputs;
	double               *base;   /* of each output */
	double               *scale;  /* of each output */
	struct ensemble_tree *trees;  /* by output, then in the order they were grown */
	size_t                n_trees;
	struct ensemble_node *nodes;
	size_t                n_nodes;
	float                *joint;  /* NULL: no joint trees; else n_outputs values a node: what a leaf adds, finite */
};

/** Values that a leaf has. */
static inline size_t ensemble_values(const struct ensemble *e)
{
	return e->joint ? e->n_outputs : 1;
}

/** What a leaf, counted from its tree's root, adds: ensemble_values() of them. */
static inline const float *ensemble_leaf(const struct ensemble *e, const struct ensemble_tree *tree, size_t leaf)
{
	return e->joint ? e->joint + (tree->root + leaf) * e->n_outputs : &e->nodes[tree->root + leaf].value;
}

void ensemble_finish(struct ensemble *e);

/** Walk every tree, one node at a time: what any faster walk must agree with. */
void ensemble_predict(const struct ensemble *e, const float *row, double *out);

#endif
