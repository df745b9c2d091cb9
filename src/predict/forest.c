/*
 * forest.c - fit trees side by side, walk them abreast; see forest.h.
 */
#include "predict/forest.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define ABREAST 8 /* trees walked together, so that one's memory wait is the others' work */

/* Where a tree is while the forest is being fitted. */
struct sapling {
	struct tree_node *nodes;
	size_t            n;
};

struct fit {
	const struct tree_data      *d;
	const double                *y;
	const struct forest_options *o;
	struct hes_rng               rng;
	struct sapling              *trees;
};

static void draw_bootstrap(struct hes_rng *rng, uint16_t *count, size_t n)
{
	memset(count, 0, n * sizeof(*count));
	for (size_t i = 0; i < n; i++) {
		uint16_t *c = &count[hes_rng_below(rng, n)];

		*c = (uint16_t)(*c + (*c < UINT16_MAX));
	}
}

/* One tree, from a random stream of its own. */
static int fit_tree(const struct fit *f, size_t index, struct tree_work *w, uint16_t *count)
{
	struct hes_rng rng = hes_rng_fork(&f->rng, index);
	struct sapling *t = &f->trees[index];

	draw_bootstrap(&rng, count, f->d->n_rows);
	t->n = tree_grow(f->d, f->y, count, &f->o->tree, &rng, w);
	t->nodes = malloc(t->n * sizeof(*t->nodes));
	if (!t->nodes)
		return -ENOMEM;
	memcpy(t->nodes, tree_work_nodes(w), t->n * sizeof(*t->nodes));
	return 0;
}

static int fit_trees(struct fit *f)
{
	int failed = 0, threads = f->o->threads ? (int)f->o->threads : omp_get_max_threads();

#pragma omp parallel num_threads(threads) reduction(| : failed)
	{
		struct tree_work *w = tree_work_create(f->d);
		uint16_t *count = malloc(f->d->n_rows * sizeof(*count));

		failed = !w || !count;
#pragma omp for schedule(dynamic)
		for (size_t i = 0; i < f->o->trees; i++)
			if (!failed)
				failed = fit_tree(f, i, w, count) != 0;
		tree_work_destroy(w);
		free(count);
	}
	return failed ? -ENOMEM : 0;
}

static int join(const struct fit *f, struct forest *out)
{
	struct forest t = { .n_trees = f->o->trees, .n_features = f->d->n_features };
	size_t at = 0;

	for (size_t i = 0; i < t.n_trees; i++)
		t.n_nodes += f->trees[i].n;
	t.nodes = malloc(t.n_nodes * sizeof(*t.nodes));
	t.roots = malloc((t.n_trees + 1) * sizeof(*t.roots));
	if (!t.nodes || !t.roots) {
		forest_finish(&t);
		return -ENOMEM;
	}
	for (size_t i = 0; i < t.n_trees; i++) {
		t.roots[i] = at;
		memcpy(t.nodes + at, f->trees[i].nodes, f->trees[i].n * sizeof(*t.nodes));
		at += f->trees[i].n;
	}
	t.roots[t.n_trees] = at;
	*out = t;
	return 0;
}

int forest_fit(const struct tree_data *d, const double *y, const struct forest_options *o,
	       struct forest *out)
{
	struct fit f = { .d = d, .y = y, .o = o, .trees = calloc(o->trees, sizeof(*f.trees)) };
	struct forest forest = { 0 };
	int rc = f.trees ? 0 : -ENOMEM;

	hes_rng_seed(&f.rng, o->seed);
	if (!rc)
		rc = fit_trees(&f);
	if (!rc)
		rc = join(&f, &forest);
	for (size_t i = 0; i < o->trees && f.trees; i++)
		free(f.trees[i].nodes);
	free(f.trees);
	if (rc)
		forest_finish(&forest);
	else
		*out = forest;
	return rc;
}

void forest_finish(struct forest *f)
{
	free(f->nodes);
	free(f->roots);
	*f = (struct forest){ 0 };
}

/* Sum of the leaves that trees[first .. first + n) send a row to. */
static double walk_abreast(const struct forest *f, size_t first, size_t n, const float *row)
{
	const struct tree_node *tree[ABREAST];
	uint32_t at[ABREAST] = { 0 }, moved;
	double sum = 0;

	for (size_t i = 0; i < ABREAST; i++)
		tree[i] = f->nodes + f->roots[first + (i < n ? i : 0)];
	do {
		moved = 0;
#pragma GCC unroll 8
		for (size_t i = 0; i < ABREAST; i++) {
			struct tree_node node = tree[i][at[i]];
			uint32_t next = node.child + (uint32_t)(row[node.feature] > node.threshold);

			moved |= next ^ at[i];
			at[i] = next;
		}
	} while (moved);
	for (size_t i = 0; i < n; i++)
		sum += tree[i][at[i]].threshold;
	return sum;
}

double forest_predict(const struct forest *f, float *row)
{
	double sum = 0;

	row[f->n_features] = -INFINITY;
	for (size_t i = 0; i < f->n_trees; i += ABREAST)
		sum += walk_abreast(f, i, f->n_trees - i < ABREAST ? f->n_trees - i : ABREAST, row);
	return sum / (double)f->n_trees;
}
