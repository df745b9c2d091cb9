/*
 * forest.c - random forests, extra trees and the single tree: trees fitted side by side, averaged;
 * see tree_fit.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trees/exact_tree.h"
#include "trees/random_tree.h"

struct forest {
	const struct hes_rows *rows;
	const struct hes_regressor_options *o;
	struct exact_rows exact;   /* of all kinds but extra trees */
	struct random_rows random; /* extra trees */
	size_t n_trees;
	struct hes_rng rng;
	struct fitted_tree *trees;
};

/* Memory of one thread. */
struct worker {
	struct exact_work *exact;
	struct random_work *random;
	uint32_t *count; /* how often each row counts */
};

static void draw_bootstrap(struct hes_rng *rng, uint32_t *count, size_t n)
{
	memset(count, 0, n * sizeof(*count));
	for (size_t i = 0; i < n; i++)
		count[draw_below(rng, (uint32_t)n)]++;
}

static int worker_init(const struct forest *f, struct worker *w)
{
	if (f->o->kind == HES_REGRESSOR_EXTRA_TREES) {
		*w = (struct worker){ .random = random_work_create(&f->random) };
		return w->random ? 0 : -ENOMEM;
	}
	*w = (struct worker){
		.exact = exact_work_create(&f->exact),
		.count = malloc(f->rows->n * sizeof(*w->count)),
	};
	for (size_t i = 0; w->count && i < f->rows->n; i++)
		w->count[i] = 1;
	return w->exact && w->count ? 0 : -ENOMEM;
}

static void worker_finish(struct worker *w)
{
	exact_work_destroy(w->exact);
	random_work_destroy(w->random);
	free(w->count);
}

/* Each tree has its own random stream. */
static int fit_tree(const struct forest *f, size_t index, struct worker *w)
{
	struct hes_rng rng = hes_rng_fork(&f->rng, index);
	const double *y = f->rows->y + index / f->o->trees * f->rows->n;

	if (f->o->kind == HES_REGRESSOR_EXTRA_TREES)
		return random_tree_fit(&f->random, y, f->o, &rng, w->random, &f->trees[index]);
	if (f->o->kind == HES_REGRESSOR_FOREST)
		draw_bootstrap(&rng, w->count, f->rows->n);
	return exact_tree_fit(&f->exact, y, w->count, f->o, &rng, w->exact, &f->trees[index]);
}

static int fit_trees(const struct forest *f)
{
	int failed = 0;

#pragma omp parallel num_threads(fit_threads(f->o->threads, f->n_trees)) reduction(| : failed)
	{
		struct worker w;

		failed = worker_init(f, &w) != 0;
#pragma omp for schedule(dynamic)
		for (size_t i = 0; i < f->n_trees; i++)
			if (!failed)
				failed = fit_tree(f, i, &w) != 0;
		worker_finish(&w);
	}
	return failed ? -ENOMEM : 0;
}

static int forest_join(const struct forest *f, struct ensemble *out)
{
	size_t count[HES_REGRESSOR_MAX_OUTPUTS];
	int rc;

	for (size_t o = 0; o < f->rows->n_outputs; o++)
		count[o] = f->o->trees;
	rc = join_trees(f->rows, f->trees, f->o->trees, count, out);
	for (size_t o = 0; !rc && o < f->rows->n_outputs; o++)
		out->scale[o] = 1.0 / f->o->trees;
	return rc;
}

int fit_forest(const struct hes_rows *rows, const struct hes_regressor_options *o,
	       struct ensemble *out)
{
	struct forest f = { .rows = rows, .o = o, .n_trees = rows->n_outputs * o->trees };
	int rc = -ENOMEM;

	hes_rng_seed(&f.rng, o->seed);
	f.trees = calloc(f.n_trees, sizeof(*f.trees));
	if (f.trees)
		rc = o->kind == HES_REGRESSOR_EXTRA_TREES ? random_rows_init(&f.random, rows)
							  : exact_rows_init(&f.exact, rows);
	if (!rc)
		rc = fit_trees(&f);
	if (!rc)
		rc = forest_join(&f, out);
	for (size_t i = 0; i < f.n_trees && f.trees; i++)
		free(f.trees[i].nodes);
	free(f.trees);
	exact_rows_finish(&f.exact);
	random_rows_finish(&f.random);
	return rc;
}
