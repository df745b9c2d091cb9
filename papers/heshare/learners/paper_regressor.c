/*
 * paper_regressor.c - fit and evaluate the learners of papers; see paper_regressor.h.
 */
#include "paper_regressor.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exact_tree.h"
#include "linear.h"
#include "trees/regressor.h"

#define FOREST_TREES 100

/* A random forest, or a single tree, while it is fitted. */
struct forest {
	const struct hes_rows *rows;
	const struct paper_setting *s;
	struct exact_rows exact;
	size_t n_trees;
	struct hes_rng rng;
	struct fitted_tree *trees;
};

static void draw_bootstrap(struct hes_rng *rng, uint32_t *count, size_t n)
{
	memset(count, 0, n * sizeof(*count));
	for (size_t i = 0; i < n; i++)
		count[draw_below(rng, (uint32_t)n)]++;
}

/* Each tree has its own random stream. */
static int forest_fit_tree(const struct forest *f, size_t index, struct exact_work *w,
			   uint32_t *count)
{
	struct hes_rng rng = hes_rng_fork(&f->rng, index);
	const double *y = f->rows->y + index / f->s->o.trees * f->rows->n;

	for (size_t i = 0; i < f->rows->n; i++)
		count[i] = 1;
	if (f->s->learner == PAPER_FOREST)
		draw_bootstrap(&rng, count, f->rows->n);
	return exact_tree_fit(&f->exact, y, count, &f->s->o, &rng, w, &f->trees[index]);
}

static int forest_fit_trees(const struct forest *f)
{
	int failed = 0;

#pragma omp parallel num_threads(fit_threads(f->s->o.threads, f->n_trees)) reduction(| : failed)
	{
		struct exact_work *w = exact_work_create(&f->exact);
		uint32_t *count = malloc(f->rows->n * sizeof(*count));

		failed = !w || !count;
#pragma omp for schedule(dynamic)
		for (size_t i = 0; i < f->n_trees; i++)
			if (!failed)
				failed = forest_fit_tree(f, i, w, count) != 0;
		exact_work_destroy(w);
		free(count);
	}
	return failed ? -ENOMEM : 0;
}

static int fit_forest(const struct hes_rows *rows, const struct paper_setting *s,
		      struct ensemble *out)
{
	struct forest f = { .rows = rows, .s = s, .n_trees = rows->n_outputs * s->o.trees };
	size_t count[HES_REGRESSOR_MAX_OUTPUTS];
	int rc = -ENOMEM;

	hes_rng_seed(&f.rng, s->o.seed);
	f.trees = calloc(f.n_trees, sizeof(*f.trees));
	if (f.trees)
		rc = exact_rows_init(&f.exact, rows);
	if (!rc)
		rc = forest_fit_trees(&f);
	for (size_t o = 0; o < rows->n_outputs; o++)
		count[o] = s->o.trees;
	if (!rc)
		rc = join_trees(rows, f.trees, s->o.trees, count, out);
	for (size_t o = 0; !rc && o < rows->n_outputs; o++)
		out->scale[o] = 1.0 / s->o.trees;
	for (size_t i = 0; i < f.n_trees && f.trees; i++)
		free(f.trees[i].nodes);
	free(f.trees);
	exact_rows_finish(&f.exact);
	return rc;
}

/* With the defaults of a forest. */
static struct paper_setting forest_setting(const struct hes_rows *rows,
					   const struct paper_setting *given)
{
	struct paper_setting s = *given;

	s.o.trees = s.learner == PAPER_TREE ? 1 : s.o.trees ? s.o.trees : FOREST_TREES;
	s.o.min_leaf = s.o.min_leaf ? s.o.min_leaf : 1;
	s.o.features_per_split =
		s.o.features_per_split ? s.o.features_per_split : (uint32_t)rows->n_features;
	return s;
}

static int fit_exact(const struct hes_rows *rows, struct paper_regressor *r)
{
	r->trees = calloc(1, sizeof(*r->trees));
	if (!r->trees || fit_forest(rows, &r->setting, &r->trees->ensemble))
		return -ENOMEM;
	r->trees->about = (struct hes_regressor_info){ .options = r->setting.o,
						       .rows = rows->n,
						       .n_features = rows->n_features,
						       .n_outputs = rows->n_outputs };
	regressor_ready(r->trees);
	return 0;
}

static int fit_line(const struct hes_rows *rows, struct paper_regressor *r)
{
	r->weights = malloc((rows->n_features + 1) * rows->n_outputs * sizeof(*r->weights));
	r->means = malloc(rows->n_features * sizeof(*r->means));
	return r->weights && r->means ? linear_fit(rows, r->weights, r->means) : -ENOMEM;
}

static int fit_shipped(const struct hes_rows *rows, struct paper_regressor *r, struct hes_err *err)
{
	struct hes_regressor_options *o = &r->setting.o;
	int rc;

	o->kind = r->setting.learner == PAPER_BOOSTING ? HES_REGRESSOR_BOOSTING
						       : HES_REGRESSOR_EXTRA_TREES;
	rc = hes_regressor_fit(rows, o, &r->trees, err);
	if (!rc)
		*o = hes_regressor_about(r->trees)->options;
	return rc;
}

int paper_regressor_fit(const struct hes_rows *rows, const struct paper_setting *setting,
			struct paper_regressor *out, struct hes_err *err)
{
	struct paper_regressor r = { *setting, .n_features = rows->n_features,
				     .n_outputs = rows->n_outputs };
	int rc = fit_check_rows(rows, err);

	if (rc)
		return rc;
	if (setting->learner == PAPER_EXTRA_TREES || setting->learner == PAPER_BOOSTING) {
		rc = fit_shipped(rows, &r, err);
	} else {
		r.setting = forest_setting(rows, setting);
		rc = setting->learner == PAPER_LINEAR ? fit_line(rows, &r) : fit_exact(rows, &r);
		if (rc)
			hes_fail(err, rc, "out of memory for %zu rows of %zu features", rows->n,
				 rows->n_features);
	}
	if (rc)
		paper_regressor_free(&r);
	else
		*out = r;
	return rc;
}

static void predict_line(const struct paper_regressor *r, const float *row, double *out)
{
	const size_t n = r->n_features;

	for (size_t o = 0; o < r->n_outputs; o++) {
		const double *slope = r->weights + o * (n + 1);
		double sum = slope[n];

		for (size_t f = 0; f < n; f++)
			sum += slope[f] * (isnan(row[f]) ? r->means[f] : (double)row[f]);
		out[o] = sum;
	}
}

void paper_regressor_predict(const struct paper_regressor *r, const float *row, double *out)
{
	if (r->trees)
		hes_regressor_predict(r->trees, row, out);
	else
		predict_line(r, row, out);
}

void paper_regressor_free(struct paper_regressor *r)
{
	hes_regressor_free(r->trees);
	free(r->weights);
	free(r->means);
	*r = (struct paper_regressor){ .trees = NULL };
}
