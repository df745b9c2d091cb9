/*
 * walk.c - the walker; see walk.h.
 */
#include "predict/walk.h"

#include <stdlib.h>
#include <string.h>

struct walker {
	struct ensemble e;
};

void walker_destroy(struct walker *w)
{
	if (!w)
		return;
	ensemble_finish(&w->e);
	free(w);
}

struct walker *walker_create(const struct ensemble *e)
{
	struct walker *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->e = *e;
	w->e.base = malloc(e->n_outputs * sizeof(*e->base));
	w->e.scale = malloc(e->n_outputs * sizeof(*e->scale));
	w->e.trees = malloc(e->n_trees * sizeof(*e->trees));
	w->e.nodes = malloc(e->n_nodes * sizeof(*e->nodes));
	if (!w->e.base || !w->e.scale || !w->e.trees || !w->e.nodes) {
		walker_destroy(w);
		return NULL;
	}
	memcpy(w->e.base, e->base, e->n_outputs * sizeof(*e->base));
	memcpy(w->e.scale, e->scale, e->n_outputs * sizeof(*e->scale));
	memcpy(w->e.trees, e->trees, e->n_trees * sizeof(*e->trees));
	memcpy(w->e.nodes, e->nodes, e->n_nodes * sizeof(*e->nodes));
	return w;
}

void walker_predict(const struct walker *w, const float *row, double *out)
{
	ensemble_predict(&w->e, row, out);
}

void walker_predict_rows(const struct walker *w, const float *rows, size_t n, double *out)
{
	for (size_t i = 0; i < n; i++)
		walker_predict(w, rows + i * w->e.n_features, out + i * w->e.n_outputs);
}
