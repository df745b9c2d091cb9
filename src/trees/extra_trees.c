/*
 * extra_trees.c - trees of random cuts (random_tree.h), each fitted to all rows, averaged; see
 * tree_fit.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "trees/random_tree.h"

struct forest {
	const struct hes_rows *rows;
	const struct hes_regressor_options *o;
	struct random_rows random;
	size_t n_trees;
	struct hes_rng rng;
	struct fitted_tree *trees;
};

/* Each tree has its own random stream. */
static int forest_fit_tree(const struct forest *f, size_t index, struct random_work *w)
{
	struct hes_rng rng = hes_rng_fork(&f->rng, index);
	const double *y = f->rows->y + index / f->o->trees * f->rows->n;

	return random_tree_fit(&f->random, y, f->o, &rng, w, &f->trees[index]);
}

static int forest_fit_trees(const struct forest *f)
{
	int failed = 0;

#pragma omp parallel num_threads(fit_threads(f->o->threads, f->n_trees)) reduction(| : failed)
	{
		struct random_work *w = random_work_create(&f->random);

		failed = !w;
#pragma omp for schedule(dynamic)
		for (size_t i = 0; i < f->n_trees; i++)
			if (!failed)
				failed = forest_fit_tree(f, i, w) != 0;
		random_work_destroy(w);
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

int fit_extra_trees(const struct hes_rows *rows, const struct hes_regressor_options *o,
		    struct ensemble *out)
{
	struct forest f = { .rows = rows, .o = o, .n_trees = rows->n_outputs * o->trees };
	int rc = -ENOMEM;

	hes_rng_seed(&f.rng, o->seed);
	f.trees = calloc(f.n_trees, sizeof(*f.trees));
	if (f.trees)
		rc = random_rows_init(&f.random, rows);
	if (!rc)
		rc = forest_fit_trees(&f);
	if (!rc)
		rc = forest_join(&f, out);
	for (size_t i = 0; i < f.n_trees && f.trees; i++)
		free(f.trees[i].nodes);
	free(f.trees);
	random_rows_finish(&f.random);
	return rc;
}
