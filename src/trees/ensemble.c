/*
 * ensemble.c - evaluate trees node by node; see ensemble.h.
 */
#include "trees/ensemble.h"

#include <math.h>
#include <stdlib.h>

void ensemble_finish(struct ensemble *e)
{
	free(e->base);
	free(e->scale);
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
		out[o] = e->base[o] + e->scale[o] * out[o];
}
