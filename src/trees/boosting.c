/*
 * boosting.c - gradient boosting (Friedman, 2001 and 2002): each tree is fitted to the residuals of
 * those before it; see boosting.h.
 *
 * A leaf adds the mean residual, shrunk a little for leaves of few rows.
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
	size_t n_drawn;
	bool *in_tree; /* of each row: it was drawn */
	double *residual;
	struct fitted_tree *trees; /* the caller's, o->trees */
	size_t n_trees;
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
	free(b->in_tree);
	free(b->residual);
}

static int boost_init(struct boost *b)
{
	size_t n = b->rows->n;

	b->tree = histogram_tree_create(b->bins, b->o, n);
	b->drawn = malloc(n * sizeof(*b->drawn));
	b->in_tree = malloc(n * sizeof(*b->in_tree));
	b->residual = malloc(n * sizeof(*b->residual));
	return b->tree && b->drawn && b->in_tree && b->residual ? 0 : -ENOMEM;
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

static void draw_tree(struct boost *b)
{
	const size_t n = (size_t)llround(b->o->row_fraction * (double)b->rows->n);

	b->n_drawn = n < 2 ? 2 : n;
	draw_rows(&b->rng, b->rows->n, b->n_drawn, b->drawn);
	memset(b->in_tree, 0, b->rows->n * sizeof(*b->in_tree));
	for (size_t i = 0; i < b->n_drawn; i++)
		b->in_tree[b->drawn[i]] = true;
}

static double leaf_value(const struct boost *b, const uint32_t *rows, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += b->residual[rows[i]];
	return sum / ((double)n + HISTOGRAM_RIDGE);
}

/* Set the values of the leaves, and subtract them from the residuals of all rows. */
static void apply_tree(struct boost *b)
{
	uint32_t n_nodes;
	struct histogram_node *nodes = histogram_tree_nodes(b->tree, &n_nodes);
	size_t n_leaves;
	const struct histogram_leaf *leaves = histogram_tree_leaves(b->tree, &n_leaves);

	for (size_t l = 0; l < n_leaves; l++) {
		const uint32_t *rows = histogram_tree_rows(b->tree) + leaves[l].begin;
		size_t n = leaves[l].end - leaves[l].begin;
		float value = (float)(b->o->learning_rate * leaf_value(b, rows, n));

		nodes[leaves[l].node].node.value = value;
		for (size_t i = 0; i < n; i++)
			b->residual[rows[i]] -= (double)value;
	}
	for (size_t i = 0; i < b->rows->n && b->n_drawn < b->rows->n; i++)
		if (!b->in_tree[i])
			b->residual[i] -=
				(double)nodes[histogram_tree_leaf_of(b->tree, i)].node.value;
}

static int keep_tree(struct boost *b)
{
	uint32_t n;
	const struct histogram_node *nodes = histogram_tree_nodes(b->tree, &n);
	struct fitted_tree *out = &b->trees[b->n_trees];

	out->nodes = malloc(n * sizeof(*out->nodes));
	if (!out->nodes)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		out->nodes[i] = nodes[i].node;
	out->n = n;
	b->n_trees++;
	return 0;
}

static int add_trees(struct boost *b)
{
	int rc = 0;

	while (!rc && b->n_trees < b->o->trees) {
		draw_tree(b);
		rc = histogram_tree_fit(b->tree, b->drawn, b->n_drawn, b->residual);
		if (rc)
			break;
		apply_tree(b);
		rc = keep_tree(b);
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
