/*
 * tree_scratch.c - see tree_scratch.h.
 */
#include "trees/tree_scratch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int scratch_init(struct scratch *s, size_t n_rows, size_t n_features, size_t n_outputs)
{
	*s = (struct scratch){ .n_outputs = n_outputs };
	s->nodes = malloc(2 * n_rows * sizeof(*s->nodes));
	s->values = n_outputs > 1 ? malloc(2 * n_rows * n_outputs * sizeof(*s->values)) : NULL;
	s->stack = malloc(n_rows * sizeof(*s->stack));
	s->features = malloc(n_features * sizeof(*s->features));
	s->spare = malloc((n_rows + 1) * sizeof(*s->spare));
	s->by_target = malloc((n_rows + 1) * sizeof(*s->by_target));
	s->left = malloc(n_rows);
	s->targets = malloc(n_rows * sizeof(*s->targets));
	if (!s->nodes || (n_outputs > 1 && !s->values) || !s->stack || !s->features || !s->spare || !s->by_target ||
	    !s->left || !s->targets)
		return -ENOMEM;
	return 0;
}

void scratch_finish(struct scratch *s)
{
	free(s->nodes);
	free(s->values);
	free(s->stack);
	free(s->features);
	free(s->spare);
	free(s->by_target);
	free(s->left);
	free(s->targets);
}

void scratch_begin(struct scratch *s, size_t n_features)
{
	for (uint32_t f = 0; f < n_features; f++)
		s->features[f] = f;
	s->n_nodes = 1;
	s->n_stack = 0;
}

int scratch_take(const struct scratch *s, struct grown *out)
{
	struct grown g = { .n = s->n_nodes };
	size_t n_values = s->n_nodes * s->n_outputs;

	g.nodes = malloc(s->n_nodes * sizeof(*g.nodes));
	g.values = s->values ? malloc(n_values * sizeof(*g.values)) : NULL;
	if (!g.nodes || (s->values && !g.values)) {
		grown_finish(&g);
		return -ENOMEM;
	}
	memcpy(g.nodes, s->nodes, s->n_nodes * sizeof(*g.nodes));
	if (g.values)
		memcpy(g.values, s->values, n_values * sizeof(*g.values));
	*out = g;
	return 0;
}
