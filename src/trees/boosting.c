/*
 * boosting.c - gradient boosting (Friedman, 2001 and 2002): each tree is fitted to the residuals of
 * those before it; see boosting.h.
 */
#include "trees/boosting.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "trees/histogram_tree.h"

#define ROWS_A_BIN 8 /* at least, when a feature has many values */
#define FEW_BINS   64

/* One output. */
struct boost {
	const struct training_rows *rows;
	const struct boosting_options *o;
	const struct bins *bins;
	const double *y;
	struct histogram_tree *tree;
	struct hes_rng rng;
	uint32_t *drawn; /* rows of a tree */
	double *residual;
	struct fitted_tree *trees; /* the caller's, o->trees */
	double base;
};

/* Draw @n of @rows rows, in their order (Knuth's algorithm S). */
static void draw_rows(struct hes_rng *rng, size_t rows, size_t n, uint32_t *out)
{
	size_t drawn = 0;

	for (size_t i = 0; i < rows; i++)
		if (draw_below(rng, (uint32_t)(rows - i)) < n - drawn)
			out[drawn++] = (uint32_t)i;
}

static void boost_finish(struct boost *b)
{
	histogram_tree_destroy(b->tree);
	free(b->drawn);
	free(b->residual);
}

static int boost_init(struct boost *b)
{
	size_t n = b->rows->n;

	b->tree = histogram_tree_create(b->bins, b->o, n);
	b->drawn = malloc(n * sizeof(*b->drawn));
	b->residual = malloc(n * sizeof(*b->residual));
	return b->tree && b->drawn && b->residual ? 0 : -ENOMEM;
}

static void boost_start(struct boost *b)
{
	double sum = 0, first = b->y[0];
	size_t n = b->rows->n;

	/* Predictors stay the same bit for bit: older versions drew rows to hold back here. */
	for (size_t i = 0; i < n; i++)
		hes_rng_u64(&b->rng);
	for (size_t i = 0; i < n; i++)
		sum += b->y[i] - first;
	b->base = first + sum / (double)n;
	for (size_t i = 0; i < n; i++)
		b->residual[i] = b->y[i] - b->base;
}

static int add_trees(struct boost *b)
{
	const size_t rows = b->rows->n, part = (size_t)llround(b->o->row_fraction * (double)rows),
		     n = part < 2 ? 2 : part;
	int rc = 0;

	for (uint32_t i = 0; i < b->o->trees && !rc; i++) {
		draw_rows(&b->rng, rows, n, b->drawn);
		rc = histogram_tree_fit(b->tree, b->drawn, n, b->residual, &b->trees[i]);
	}
	return rc;
}

/* More rows allow finer bins, as far as a byte goes. */
static uint32_t bins_for(size_t n_rows)
{
	size_t bins = n_rows / ROWS_A_BIN;

	return bins < FEW_BINS ? FEW_BINS : bins < BINS_MAX ? (uint32_t)bins : BINS_MAX - 1;
}

static int boost_output(const struct training_rows *rows, const struct boosting_options *o,
			const struct bins *bins, size_t output, struct fitted_tree *trees,
			double *base)
{
	struct hes_rng all;
	struct boost b = {
		.rows = rows,
		.o = o,
		.bins = bins,
		.y = rows->y + output * rows->n,
		.trees = trees + output * o->trees,
	};
	int rc = boost_init(&b);

	hes_rng_seed(&all, o->seed);
	b.rng = hes_rng_fork(&all, output);
	if (!rc) {
		boost_start(&b);
		rc = add_trees(&b);
	}
	base[output] = b.base;
	boost_finish(&b);
	return rc;
}

int fit_threads(uint32_t threads, size_t jobs)
{
	size_t n = threads ? threads : (size_t)omp_get_max_threads();

	if (n > jobs)
		n = jobs;
	return n ? (int)n : 1;
}

int join_trees(const struct training_rows *rows, const struct fitted_tree *trees, size_t each,
	       struct ensemble *out)
{
	struct ensemble e = { .n_outputs = rows->n_outputs, .n_trees = rows->n_outputs * each };
	size_t node = 0;

	for (size_t t = 0; t < e.n_trees; t++)
		e.n_nodes += trees[t].n;
	e.trees = malloc((e.n_trees + 1) * sizeof(*e.trees));
	e.nodes = malloc((e.n_nodes + 1) * sizeof(*e.nodes));
	if (!e.trees || !e.nodes) {
		ensemble_finish(&e);
		return -ENOMEM;
	}
	for (size_t t = 0; t < e.n_trees; t++) {
		e.trees[t] = (struct ensemble_tree){ node, trees[t].n, (uint32_t)(t / each) };
		memcpy(e.nodes + node, trees[t].nodes, trees[t].n * sizeof(*trees[t].nodes));
		node += trees[t].n;
	}
	*out = e;
	return 0;
}

int boosting_fit(const struct training_rows *rows, const struct boosting_options *o,
		 struct ensemble *out)
{
	struct fitted_tree *trees = calloc(rows->n_outputs * o->trees, sizeof(*trees));
	double base[ENSEMBLE_OUTPUTS];
	struct bins bins = { 0 };
	int rc = trees ? bins_init(&bins, rows->x, rows->n, rows->n_features, bins_for(rows->n))
		       : -ENOMEM,
	    failed = 0;

	if (!rc) {
#pragma omp parallel for schedule(dynamic) num_threads(fit_threads(o->threads, rows->n_outputs)) \
	reduction(|                                                                              \
		  : failed)
		for (size_t i = 0; i < rows->n_outputs; i++)
			failed |= boost_output(rows, o, &bins, i, trees, base) != 0;
		rc = failed ? -ENOMEM : join_trees(rows, trees, o->trees, out);
	}
	if (!rc)
		memcpy(out->base, base, rows->n_outputs * sizeof(*base));
	for (size_t i = 0; trees && i < rows->n_outputs * o->trees; i++)
		free(trees[i].nodes);
	free(trees);
	bins_finish(&bins);
	return rc;
}
