/*
 * boosting.c - gradient boosting (Friedman, 2001 and 2002): trees of
 * histogram_tree.c, each on what those before it left; see grow.h.
 *
 * Squared error: leaves add the mean residual, shrunk a little for leaves of
 * few rows. Absolute error: trees follow the residuals' signs, leaves add
 * their median.
 */
#include "trees/grow.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trees/histogram_tree.h"

#define ROWS_A_BIN 8  /* at least, where a feature has many values */
#define FEW_BINS   64

/* One output. */
struct boost {
	const struct hes_rows              *rows;
	const struct hes_regressor_options *o;
	const struct bins                  *bins;
	const double   *y;
	struct step    *step;
	struct hes_rng  rng;
	uint32_t       *fit, *held; /* rows to learn from; rows to stop on */
	size_t          n_fit, n_held;
	uint32_t       *drawn;      /* rows of a tree */
	size_t          n_drawn;
	uint32_t       *features;   /* in the order they were drawn last */
	bool           *in_tree;    /* of each row: was it drawn? */
	double         *residual;
	double         *gradient;   /* absolute error: signs; else the residuals themselves */
	double         *sorted;     /* room for a median */
	struct grown   *trees;      /* the caller's, o->trees */
	size_t          n_trees;
	double          base;
};

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : v[n / 2 - 1] / 2 + v[n / 2] / 2;
}

/* @n of @from, in their order (Knuth's algorithm S). @return those that were not drawn follow in @rest, if given */
static void draw_rows(struct hes_rng *rng, const uint32_t *from, size_t n_from, size_t n, uint32_t *out,
		      uint32_t *rest)
{
	size_t drawn = 0;

	for (size_t i = 0; i < n_from; i++) {
		if (grow_draw_below(rng, (uint32_t)(n_from - i)) < n - drawn)
			out[drawn++] = from[i];
		else if (rest)
			rest[i - drawn] = from[i];
	}
}

static size_t part_of(double fraction, size_t n, size_t least)
{
	size_t k = (size_t)llround(fraction * (double)n);

	return k < least ? least : k;
}

static void boost_finish(struct boost *b)
{
	step_destroy(b->step);
	free(b->fit);
	free(b->held);
	free(b->drawn);
	free(b->features);
	free(b->in_tree);
	free(b->residual);
	free(b->gradient);
	free(b->sorted);
}

static int boost_init(struct boost *b)
{
	size_t n = b->rows->n;

	b->step = step_create(b->bins, b->o, n);
	b->fit = malloc(n * sizeof(*b->fit));
	b->held = malloc(n * sizeof(*b->held));
	b->drawn = malloc(n * sizeof(*b->drawn));
	b->features = malloc(b->rows->n_features * sizeof(*b->features));
	b->in_tree = malloc(n * sizeof(*b->in_tree));
	b->residual = malloc(n * sizeof(*b->residual));
	b->gradient = malloc(n * sizeof(*b->gradient));
	b->sorted = malloc(n * sizeof(*b->sorted));
	return b->step && b->fit && b->held && b->drawn && b->features && b->in_tree && b->residual &&
		       b->gradient && b->sorted
		       ? 0
		       : -ENOMEM;
}

/* Rows to stop on are drawn once; at least two are left to learn from. */
static void hold_back(struct boost *b)
{
	size_t n = b->rows->n;

	b->n_held = b->o->stop_fraction > 0 ? part_of(b->o->stop_fraction, n, 1) : 0;
	if (b->n_held > n - 2)
		b->n_held = n - 2;
	for (size_t i = 0; i < n; i++)
		b->drawn[i] = (uint32_t)i;
	draw_rows(&b->rng, b->drawn, n, b->n_held, b->held, b->fit);
	b->n_fit = n - b->n_held;
}

static void start(struct boost *b)
{
	double sum = 0, first = b->y[b->fit[0]];

	for (size_t i = 0; i < b->n_fit; i++) {
		b->sorted[i] = b->y[b->fit[i]];
		sum += b->sorted[i] - first;
	}
	b->base = b->o->criterion == HES_CRITERION_ABSOLUTE ? median(b->sorted, b->n_fit)
							     : first + sum / (double)b->n_fit;
	for (size_t i = 0; i < b->rows->n; i++)
		b->residual[i] = b->y[i] - b->base;
	for (uint32_t f = 0; f < b->rows->n_features; f++)
		b->features[f] = f;
}

static void draw_tree(struct boost *b, size_t n_features)
{
	b->n_drawn = part_of(b->o->row_fraction, b->n_fit, 2);
	draw_rows(&b->rng, b->fit, b->n_fit, b->n_drawn, b->drawn, NULL);
	for (size_t k = 0; k < n_features && n_features < b->rows->n_features; k++) {
		size_t pick = k + grow_draw_below(&b->rng, (uint32_t)(b->rows->n_features - k));
		uint32_t f = b->features[pick];

		b->features[pick] = b->features[k];
		b->features[k] = f;
	}
	memset(b->in_tree, 0, b->rows->n * sizeof(*b->in_tree));
	for (size_t i = 0; i < b->n_drawn; i++)
		b->in_tree[b->drawn[i]] = true;
}

static const double *gradients(struct boost *b)
{
	if (b->o->criterion == HES_CRITERION_SQUARED)
		return b->residual;
	for (size_t i = 0; i < b->rows->n; i++)
		b->gradient[i] = (b->residual[i] > 0) - (b->residual[i] < 0);
	return b->gradient;
}

static double leaf_value(struct boost *b, const uint32_t *rows, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		b->sorted[i] = b->residual[rows[i]];
		sum += b->sorted[i];
	}
	return b->o->criterion == HES_CRITERION_ABSOLUTE ? median(b->sorted, n) : sum / ((double)n + STEP_RIDGE);
}

/* Give leaves their values, and take these off the residuals of all rows. */
static void settle(struct boost *b)
{
	uint32_t n_nodes;
	struct step_node *nodes = step_nodes(b->step, &n_nodes);
	size_t n_leaves;
	const struct step_leaf *leaves = step_leaves(b->step, &n_leaves);

	for (size_t l = 0; l < n_leaves; l++) {
		const uint32_t *rows = step_rows(b->step) + leaves[l].begin;
		size_t n = leaves[l].end - leaves[l].begin;
		float value = (float)(b->o->learning_rate * leaf_value(b, rows, n));

		nodes[leaves[l].node].node.value = value;
		for (size_t i = 0; i < n; i++)
			b->residual[rows[i]] -= (double)value;
	}
	for (size_t i = 0; i < b->rows->n && b->n_drawn < b->rows->n; i++)
		if (!b->in_tree[i])
			b->residual[i] -= (double)nodes[step_walk(b->step, i)].node.value;
}

static int keep_tree(struct boost *b)
{
	uint32_t n;
	const struct step_node *nodes = step_nodes(b->step, &n);
	struct grown *g = &b->trees[b->n_trees];

	g->nodes = malloc(n * sizeof(*g->nodes));
	if (!g->nodes)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		g->nodes[i] = nodes[i].node;
	g->n = n;
	b->n_trees++;
	return 0;
}

static double loss_of_held(const struct boost *b)
{
	double sum = 0;

	for (size_t i = 0; i < b->n_held; i++) {
		double r = b->residual[b->held[i]];

		sum += b->o->criterion == HES_CRITERION_ABSOLUTE ? fabs(r) : r * r;
	}
	return sum;
}

/* Add trees until there are enough, or the held rows have not gained for long; then only the best remain. */
static int add_trees(struct boost *b)
{
	size_t n_features = part_of(b->o->column_fraction, b->rows->n_features, 1), best = 0;
	double least = INFINITY;
	int rc = 0;

	while (!rc && b->n_trees < b->o->trees && (!b->n_held || b->n_trees - best < b->o->patience)) {
		draw_tree(b, n_features);
		rc = step_grow(b->step, b->drawn, b->n_drawn, gradients(b), b->features, n_features, &b->rng);
		if (rc)
			break;
		settle(b);
		rc = keep_tree(b);
		if (b->n_held && loss_of_held(b) < least) {
			least = loss_of_held(b);
			best = b->n_trees;
		}
	}
	while (b->n_held && b->n_trees > best && b->n_trees > 1)
		free(b->trees[--b->n_trees].nodes), b->trees[b->n_trees].nodes = NULL;
	return rc;
}

/* More rows, finer bins, as far as a byte goes. */
static uint32_t bins_for(size_t n_rows)
{
	size_t bins = n_rows / ROWS_A_BIN;

	return bins < FEW_BINS ? FEW_BINS : bins < BINS_MAX ? (uint32_t)bins : BINS_MAX - 1;
}

static int boost_output(const struct hes_rows *rows, const struct hes_regressor_options *o,
			const struct bins *bins, size_t output, struct grown *trees, size_t *n_trees,
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
		hold_back(&b);
		start(&b);
		rc = add_trees(&b);
	}
	n_trees[output] = b.n_trees;
	base[output] = b.base;
	boost_finish(&b);
	return rc;
}

int grow_boosting(const struct hes_rows *rows, const struct hes_regressor_options *o, struct ensemble *out)
{
	struct grown *trees = calloc(rows->n_outputs * o->trees, sizeof(*trees));
	size_t n_trees[HES_REGRESSOR_MAX_OUTPUTS];
	double base[HES_REGRESSOR_MAX_OUTPUTS];
	struct bins bins = { 0 };
	int rc = trees ? bins_init(&bins, rows->x, rows->n, rows->n_features, bins_for(rows->n)) : -ENOMEM, failed = 0;

	if (!rc) {
#pragma omp parallel for schedule(dynamic) num_threads(grow_threads(o->threads, rows->n_outputs)) reduction(| : failed)
		for (size_t i = 0; i < rows->n_outputs; i++)
			failed |= boost_output(rows, o, &bins, i, trees, n_trees, base) != 0;
		rc = failed ? -ENOMEM : grow_join(rows, trees, o->trees, n_trees, out);
	}
	if (!rc)
		memcpy(out->base, base, rows->n_outputs * sizeof(*base));
	for (size_t i = 0; trees && i < rows->n_outputs * o->trees; i++)
		free(trees[i].nodes);
	free(trees);
	bins_finish(&bins);
	return rc;
}
