/*
 * linear.c - least squares by a pivoted Cholesky factor of the columns'
 * correlations; see linear.h.
 *
 * Normal equations lose half of the digits; solving again for what the
 * residuals still hold gives them back. Memory does not grow with the rows
 * but for the residuals.
 */
#include "trees/linear.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK    128    /* rows standardised at a time */
#define LEAST    1e-11  /* part of a column's variance that others must leave for it to count */
#define REFINED  3      /* times that residuals are solved for again */

struct linear {
	const struct hes_rows *rows;
	size_t    n, k;      /* rows, features */
	double   *means;     /* the caller's */
	double   *spread;    /* of each feature: root of the sum of squares; 0: does not vary */
	double   *gram;      /* k x k; then its factor, lower, in the order of the pivots */
	uint32_t *pivot;
	size_t    rank;
	double   *slopes;    /* of standardised columns */
	double   *side;      /* right-hand side, then solution */
	double   *residual;
	double   *block;     /* BLOCK x k standardised values */
};

static void linear_finish(struct linear *l)
{
	free(l->spread);
	free(l->gram);
	free(l->pivot);
	free(l->slopes);
	free(l->side);
	free(l->residual);
	free(l->block);
}

static int linear_init(struct linear *l)
{
	l->spread = malloc(l->k * sizeof(*l->spread));
	l->gram = calloc(l->k * l->k, sizeof(*l->gram));
	l->pivot = malloc(l->k * sizeof(*l->pivot));
	l->slopes = malloc(l->k * sizeof(*l->slopes));
	l->side = malloc(l->k * sizeof(*l->side));
	l->residual = malloc(l->n * sizeof(*l->residual));
	l->block = malloc(BLOCK * l->k * sizeof(*l->block));
	return l->spread && l->gram && l->pivot && l->slopes && l->side && l->residual && l->block ? 0 : -ENOMEM;
}

/* Mean of the rows that have a feature, and the spread around it; deviations are from the first, against
 * cancellation. */
static void measure_column(struct linear *l, size_t f)
{
	const float *x = l->rows->x + f * l->n;
	double sum = 0, first = 0, square = 0;
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		if (isnan(x[i]))
			continue;
		first = n++ ? first : (double)x[i];
		sum += (double)x[i] - first;
	}
	l->means[f] = n ? first + sum / (double)n : 0;
	for (size_t i = 0; i < l->n; i++)
		if (!isnan(x[i]))
			square += ((double)x[i] - l->means[f]) * ((double)x[i] - l->means[f]);
	l->spread[f] = sqrt(square);
	/* What rounding of the mean leaves of a constant is no spread. */
	if (l->spread[f] <= 1e-14 * fabs(l->means[f]) * sqrt((double)l->n))
		l->spread[f] = 0;
}

/* Standardise rows first..first + n - 1 into the block, row by row. */
static void load_block(struct linear *l, size_t first, size_t n)
{
	for (size_t f = 0; f < l->k; f++) {
		const float *x = l->rows->x + f * l->n + first;
		double scale = l->spread[f] > 0 ? 1 / l->spread[f] : 0;

		for (size_t i = 0; i < n; i++)
			l->block[i * l->k + f] = isnan(x[i]) ? 0 : ((double)x[i] - l->means[f]) * scale;
	}
}

static size_t block_size(const struct linear *l, size_t first)
{
	return l->n - first < BLOCK ? l->n - first : BLOCK;
}

static void correlate(struct linear *l)
{
	for (size_t first = 0; first < l->n; first += BLOCK) {
		size_t n = block_size(l, first);

		load_block(l, first, n);
		for (size_t i = 0; i < n; i++)
			for (size_t a = 0; a < l->k; a++) {
				const double *z = l->block + i * l->k;

				for (size_t b = 0; b <= a; b++)
					l->gram[a * l->k + b] += z[a] * z[b];
			}
	}
	for (size_t a = 0; a < l->k; a++)
		for (size_t b = 0; b < a; b++)
			l->gram[b * l->k + a] = l->gram[a * l->k + b];
}

static void swap_columns(struct linear *l, size_t a, size_t b)
{
	double *g = l->gram;
	uint32_t p = l->pivot[a];

	l->pivot[a] = l->pivot[b];
	l->pivot[b] = p;
	for (size_t i = 0; i < l->k; i++) {
		double t = g[a * l->k + i];

		g[a * l->k + i] = g[b * l->k + i];
		g[b * l->k + i] = t;
	}
	for (size_t i = 0; i < l->k; i++) {
		double t = g[i * l->k + a];

		g[i * l->k + a] = g[i * l->k + b];
		g[i * l->k + b] = t;
	}
}

/* Right-looking: the column with most variance left comes next, until none has enough. */
static void factor(struct linear *l)
{
	double *g = l->gram;
	size_t k = l->k;

	for (size_t f = 0; f < k; f++)
		l->pivot[f] = (uint32_t)f;
	for (l->rank = 0; l->rank < k; l->rank++) {
		size_t j = l->rank, most = j;

		for (size_t i = j + 1; i < k; i++)
			most = g[i * k + i] > g[most * k + most] ? i : most;
		if (!(g[most * k + most] > LEAST))
			return;
		swap_columns(l, j, most);
		g[j * k + j] = sqrt(g[j * k + j]);
		for (size_t i = j + 1; i < k; i++)
			g[i * k + j] /= g[j * k + j];
		for (size_t i = j + 1; i < k; i++)
			for (size_t m = j + 1; m < k; m++)
				g[i * k + m] -= g[i * k + j] * g[m * k + j];
	}
}

static void solve(struct linear *l)
{
	const double *g = l->gram;
	double *v = l->side;
	size_t k = l->k;

	for (size_t i = 0; i < l->rank; i++) {
		for (size_t j = 0; j < i; j++)
			v[i] -= g[i * k + j] * v[j];
		v[i] /= g[i * k + i];
	}
	for (size_t i = l->rank; i-- > 0;) {
		for (size_t j = i + 1; j < l->rank; j++)
			v[i] -= g[j * k + i] * v[j];
		v[i] /= g[i * k + i];
	}
}

/* Add to the slopes what the residuals still hold, and take it off them. */
static void refine(struct linear *l)
{
	memset(l->side, 0, l->k * sizeof(*l->side));
	for (size_t first = 0; first < l->n; first += BLOCK) {
		load_block(l, first, block_size(l, first));
		for (size_t i = 0; i < block_size(l, first); i++)
			for (size_t p = 0; p < l->rank; p++)
				l->side[p] += l->block[i * l->k + l->pivot[p]] * l->residual[first + i];
	}
	solve(l);
	for (size_t p = 0; p < l->rank; p++)
		l->slopes[l->pivot[p]] += l->side[p];
	for (size_t first = 0; first < l->n; first += BLOCK) {
		load_block(l, first, block_size(l, first));
		for (size_t i = 0; i < block_size(l, first); i++)
			for (size_t p = 0; p < l->rank; p++)
				l->residual[first + i] -= l->block[i * l->k + l->pivot[p]] * l->side[p];
	}
}

/* Take the residuals' mean off them. @return it */
static double centre(struct linear *l)
{
	double first = l->residual[0], sum = 0, mean;

	for (size_t i = 0; i < l->n; i++)
		sum += l->residual[i] - first;
	mean = first + sum / (double)l->n;
	for (size_t i = 0; i < l->n; i++)
		l->residual[i] -= mean;
	return mean;
}

static void fit_output(struct linear *l, const double *y, double *weights)
{
	double constant;

	memcpy(l->residual, y, l->n * sizeof(*y));
	memset(l->slopes, 0, l->k * sizeof(*l->slopes));
	constant = centre(l);
	for (int i = 0; i <= REFINED; i++) {
		refine(l);
		constant += centre(l);
	}
	for (size_t f = 0; f < l->k; f++) {
		weights[f] = l->spread[f] > 0 ? l->slopes[f] / l->spread[f] : 0;
		constant -= weights[f] * l->means[f];
	}
	weights[l->k] = constant;
}

int linear_fit(const struct hes_rows *rows, double *weights, double *means)
{
	struct linear l = { .rows = rows, .n = rows->n, .k = rows->n_features, .means = means };
	int rc = linear_init(&l);

	if (!rc) {
		for (size_t f = 0; f < l.k; f++)
			measure_column(&l, f);
		correlate(&l);
		factor(&l);
		for (size_t o = 0; o < rows->n_outputs; o++)
			fit_output(&l, rows->y + o * l.n, weights + o * (l.k + 1));
	}
	linear_finish(&l);
	return rc;
}
