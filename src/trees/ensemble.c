/*
 * ensemble.c - evaluate trees node by node, and keep them in model files; see ensemble.h.
 */
#include "trees/ensemble.h"

#include <math.h>
#include <stdlib.h>

#define HUGE_NUMBER  1e100  /* sums of anything smaller stay finite */
#define NODE_BYTES   10     /* in a file */
#define MISSING_LEFT 0x8000 /* in a node's feature */

void ensemble_finish(struct ensemble *e)
{
	free(e->trees);
	free(e->nodes);
	*e = (struct ensemble){ 0 };
}

static float ensemble_leaf(const struct ensemble_node *tree, const float *row)
{
	const struct ensemble_node *node = tree;

	while (node->left) {
		float x = row[node->feature];
		bool goes_left = isnan(x) ? node->missing_left : x <= node->value;

		node = tree + node->left + !goes_left;
	}
	return node->value;
}

void ensemble_predict(const struct ensemble *e, const float *row, double *out)
{
	for (size_t o = 0; o < e->n_outputs; o++)
		out[o] = 0;
	for (size_t t = 0; t < e->n_trees; t++)
		out[e->trees[t].output] += (double)ensemble_leaf(e->nodes + e->trees[t].root, row);
	for (size_t o = 0; o < e->n_outputs; o++)
		out[o] = e->base[o] + out[o];
}

/* @param i  its number in its tree, of @n */
static void node_io(struct model_io *io, struct ensemble_node *node, size_t i, size_t n,
		    size_t features)
{
	uint64_t feature = node->left ? node->feature : 0;

	if (node->left && node->missing_left)
		feature |= MISSING_LEFT;
	model_io_f32(io, &node->value);
	model_io_u32(io, &node->left);
	model_io_u64(io, &feature, 2);
	node->feature = (uint16_t)(feature & ~(uint64_t)MISSING_LEFT);
	node->missing_left = feature & MISSING_LEFT;
	if (node->left)
		model_io_check(io, !isnan(node->value) && node->left > i &&
					   (size_t)node->left + 1 < n && node->feature < features);
	else
		model_io_check(io, isfinite(node->value));
}

/* Trees are ordered by output. */
static void tree_io(struct model_io *io, struct ensemble *e, size_t t)
{
	struct ensemble_tree *tree = &e->trees[t];

	model_io_u32(io, &tree->output);
	model_io_u32(io, &tree->n_nodes);
	model_io_check(io, tree->output < e->n_outputs && tree->n_nodes &&
				   (!t || tree->output >= tree[-1].output));
	tree->root = t ? tree[-1].root + tree[-1].n_nodes : 0;
}

void ensemble_io(struct model_io *io, struct ensemble *e, size_t outputs, size_t features)
{
	model_io_part(io, "a tree");
	e->n_outputs = outputs;
	for (size_t o = 0; o < outputs; o++)
		model_io_f64(io, &e->base[o], -HUGE_NUMBER, HUGE_NUMBER);
	e->trees = model_io_array(io, e->trees, &e->n_trees, sizeof(*e->trees), 8);
	for (size_t t = 0; t < e->n_trees && !io->rc; t++)
		tree_io(io, e, t);
	e->nodes = model_io_array(io, e->nodes, &e->n_nodes, sizeof(*e->nodes), NODE_BYTES);
	model_io_check(io, e->n_nodes == (e->n_trees ? e->trees[e->n_trees - 1].root +
							       e->trees[e->n_trees - 1].n_nodes
						     : 0));
	for (size_t t = 0; t < e->n_trees && !io->rc; t++)
		for (size_t i = 0; i < e->trees[t].n_nodes && !io->rc; i++)
			node_io(io, &e->nodes[e->trees[t].root + i], i, e->trees[t].n_nodes,
				features);
}
