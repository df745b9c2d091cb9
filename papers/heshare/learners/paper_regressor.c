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

#define FOREST_TREES 100

/* Of boosting: rows of a leaf of a tree, within bounds. */
#define ROWS_PER_LEAF 100
#define FEW_LEAVES    8
#define MANY_LEAVES   31

/* A random forest, extra trees or a single tree, while it is fitted. */
struct forest {
	const struct training_rows *rows;
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
	const struct tree_options o = { f->s->features_per_split, f->s->o.min_leaf, f->s->max_depth,
					f->s->learner == PAPER_EXTRA_TREES };

	for (size_t i = 0; i < f->rows->n; i++)
		count[i] = 1;
	if (f->s->learner == PAPER_FOREST)
		draw_bootstrap(&rng, count, f->rows->n);
	return exact_tree_fit(&f->exact, y, count, &o, &rng, w, &f->trees[index]);
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

static int fit_forest(const struct training_rows *rows, const struct paper_setting *s,
		      struct ensemble *out)
{
	struct forest f = { .rows = rows, .s = s, .n_trees = rows->n_outputs * s->o.trees };
	int rc = -ENOMEM;

	hes_rng_seed(&f.rng, s->o.seed);
	f.trees = calloc(f.n_trees, sizeof(*f.trees));
	if (f.trees)
		rc = exact_rows_init(&f.exact, rows);
	if (!rc)
		rc = forest_fit_trees(&f);
	if (!rc)
		rc = join_trees(rows, f.trees, s->o.trees, out);
	for (size_t i = 0; i < f.n_trees && f.trees; i++)
		free(f.trees[i].nodes);
	free(f.trees);
	exact_rows_finish(&f.exact);
	return rc;
}

/* With the learner's defaults. */
static struct paper_setting setting_settle(const struct training_rows *rows,
					   const struct paper_setting *given)
{
	const uint32_t leaves =
		(uint32_t)fmin(fmax((double)(rows->n / ROWS_PER_LEAF), FEW_LEAVES), MANY_LEAVES);
	struct paper_setting s = *given;

	s.o.trees = s.learner == PAPER_TREE ? 1 : s.o.trees ? s.o.trees : FOREST_TREES;
	s.o.min_leaf = s.o.min_leaf ? s.o.min_leaf : s.learner == PAPER_BOOSTING ? 5 : 1;
	s.o.max_leaves = s.o.max_leaves ? s.o.max_leaves : leaves;
	s.o.learning_rate = s.o.learning_rate > 0 ? s.o.learning_rate : 0.15;
	s.o.row_fraction = s.o.row_fraction > 0 ? s.o.row_fraction : 0.7;
	s.features_per_split =
		s.features_per_split ? s.features_per_split : (uint32_t)rows->n_features;
	return s;
}

static int fit_line(const struct training_rows *rows, struct paper_regressor *r)
{
	r->weights = malloc((rows->n_features + 1) * rows->n_outputs * sizeof(*r->weights));
	r->means = malloc(rows->n_features * sizeof(*r->means));
	return r->weights && r->means ? linear_fit(rows, r->weights, r->means) : -ENOMEM;
}

int paper_regressor_fit(const struct training_rows *rows, const struct paper_setting *setting,
			struct paper_regressor *out, struct hes_err *err)
{
	struct paper_regressor r = { .setting = setting_settle(rows, setting),
				     .scale = 1,
				     .n_features = rows->n_features,
				     .n_outputs = rows->n_outputs };
	int rc;

	if (setting->learner == PAPER_LINEAR)
		rc = fit_line(rows, &r);
	else if (setting->learner == PAPER_BOOSTING)
		rc = boosting_fit(rows, &r.setting.o, &r.trees);
	else
		rc = fit_forest(rows, &r.setting, &r.trees);
	if (rc) {
		paper_regressor_free(&r);
		return hes_fail(err, rc, "out of memory for %zu rows of %zu features", rows->n,
				rows->n_features);
	}
	if (setting->learner != PAPER_BOOSTING)
		r.scale = 1.0 / r.setting.o.trees;
	*out = r;
	return 0;
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
	if (!r->trees.n_outputs) {
		predict_line(r, row, out);
		return;
	}
	ensemble_predict(&r->trees, row, out);
	for (size_t o = 0; o < r->n_outputs; o++)
		out[o] *= r->scale;
}

void paper_regressor_free(struct paper_regressor *r)
{
	ensemble_finish(&r->trees);
	free(r->weights);
	free(r->means);
	*r = (struct paper_regressor){ .weights = NULL };
}
