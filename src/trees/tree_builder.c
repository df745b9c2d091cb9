/*
 * tree_builder.c - the memory of one tree that is fitted, and trees joined to an ensemble; see
 * tree_fit.h.
 */
#include <errno.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "trees/tree_fit.h"

int builder_init(struct tree_builder *b, size_t n_rows, size_t n_features)
{
	*b = (struct tree_builder){
		.nodes = malloc(2 * n_rows * sizeof(*b->nodes)),
		.stack = malloc(n_rows * sizeof(*b->stack)),
		.features = malloc(n_features * sizeof(*b->features)),
		.spare = malloc((n_rows + 1) * sizeof(*b->spare)),
	};
	return b->nodes && b->stack && b->features && b->spare ? 0 : -ENOMEM;
}

void builder_finish(struct tree_builder *b)
{
	free(b->nodes);
	free(b->stack);
	free(b->features);
	free(b->spare);
}

void builder_start(struct tree_builder *b, size_t n_features)
{
	for (uint32_t f = 0; f < n_features; f++)
		b->features[f] = f;
	b->n_nodes = 1;
	b->n_stack = 0;
}

int builder_take(const struct tree_builder *b, struct fitted_tree *out)
{
	struct ensemble_node *nodes = malloc(b->n_nodes * sizeof(*nodes));

	if (!nodes)
		return -ENOMEM;
	memcpy(nodes, b->nodes, b->n_nodes * sizeof(*nodes));
	*out = (struct fitted_tree){ nodes, b->n_nodes };
	return 0;
}

int fit_threads(uint32_t threads, size_t jobs)
{
	size_t n = threads ? threads : (size_t)omp_get_max_threads();

	if (n > jobs)
		n = jobs;
	return n ? (int)n : 1;
}

/* Count trees and nodes, and allocate them. */
static int ensemble_allocate(const struct fitted_tree *trees, size_t at_most, const size_t *count,
			     struct ensemble *e)
{
	for (size_t o = 0; o < e->n_outputs; o++) {
		e->n_trees += count[o];
		for (size_t t = 0; t < count[o]; t++)
			e->n_nodes += trees[o * at_most + t].n;
	}
	e->base = calloc(e->n_outputs, sizeof(*e->base));
	e->scale = malloc(e->n_outputs * sizeof(*e->scale));
	e->trees = malloc((e->n_trees + 1) * sizeof(*e->trees));
	e->nodes = malloc((e->n_nodes + 1) * sizeof(*e->nodes));
	return e->base && e->scale && e->trees && e->nodes ? 0 : -ENOMEM;
}

int join_trees(const struct hes_rows *rows, const struct fitted_tree *trees, size_t at_most,
	       const size_t *count, struct ensemble *out)
{
	struct ensemble e = { .n_features = rows->n_features, .n_outputs = rows->n_outputs };
	size_t tree = 0, node = 0;

	if (ensemble_allocate(trees, at_most, count, &e)) {
		ensemble_finish(&e);
		return -ENOMEM;
	}
	for (size_t o = 0; o < e.n_outputs; o++) {
		e.scale[o] = 1;
		for (size_t t = 0; t < count[o]; t++) {
			const struct fitted_tree *from = &trees[o * at_most + t];

			e.trees[tree++] = (struct ensemble_tree){ node, from->n, (uint32_t)o };
			memcpy(e.nodes + node, from->nodes, from->n * sizeof(*from->nodes));
			node += from->n;
		}
	}
	*out = e;
	return 0;
}
