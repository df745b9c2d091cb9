/*
 * linear.c - least squares by modified Gram-Schmidt on centred columns; see linear.h.
 */
#include "linear.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST 1e-7 /* part of a column's norm that earlier columns must leave */

struct linear {
	const struct training_rows *rows;
	size_t n, k;   /* rows, features */
	double *means; /* the caller's */
	double *q;     /* k orthonormal columns of n; 0 for one that adds nothing */
	double *r;     /* k x k: column j of the centred matrix is the sum of r[i][j] q[i] */
	double *residual;
};

static double dot(const double *a, const double *b, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

static void subtract(double *a, const double *b, double times, size_t n)
{
	for (size_t i = 0; i < n; i++)
		a[i] -= times * b[i];
}

/* Centre a column. @return its norm, 0 when it does not vary */
static double load_column(struct linear *l, size_t f, double *out)
{
	const float *x = l->rows->x + f * l->n;
	double sum = 0, first = 0, norm;
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		if (!isnan(x[i])) {
			first = n++ ? first : (double)x[i];
			sum += (double)x[i] - first;
		}
	l->means[f] = n ? first + sum / (double)n : 0;
	for (size_t i = 0; i < l->n; i++)
		out[i] = isnan(x[i]) ? 0 : (double)x[i] - l->means[f];
	norm = sqrt(dot(out, out, l->n));
	/* What remains of a constant is rounding of its mean. */
	return norm > 1e-14 * fabs(l->means[f]) * sqrt((double)l->n) ? norm : 0;
}

static void orthogonalise(struct linear *l, size_t j)
{
	double *q = l->q + j * l->n, norm = load_column(l, j, q), left;

	for (int pass = 0; pass < 2; pass++) /* the second pass removes the rounding of the first */
		for (size_t i = 0; i < j; i++) {
			double along = dot(l->q + i * l->n, q, l->n);

			l->r[i * l->k + j] += along;
			subtract(q, l->q + i * l->n, along, l->n);
		}
	left = sqrt(dot(q, q, l->n));
	if (!(left > LEAST * norm)) {
		memset(q, 0, l->n * sizeof(*q));
		return;
	}
	l->r[j * l->k + j] = left;
	for (size_t i = 0; i < l->n; i++)
		q[i] /= left;
}

static void fit_output(struct linear *l, const double *y, double *weights)
{
	double sum = 0, constant;

	for (size_t i = 0; i < l->n; i++)
		sum += y[i] - y[0];
	constant = y[0] + sum / (double)l->n;
	for (size_t i = 0; i < l->n; i++)
		l->residual[i] = y[i] - constant;
	for (size_t j = 0; j < l->k; j++) {
		weights[j] = dot(l->q + j * l->n, l->residual, l->n);
		subtract(l->residual, l->q + j * l->n, weights[j], l->n);
	}
	for (size_t j = l->k; j-- > 0;) {
		for (size_t i = j + 1; i < l->k; i++)
			weights[j] -= l->r[j * l->k + i] * weights[i];
		weights[j] = l->r[j * l->k + j] > 0 ? weights[j] / l->r[j * l->k + j] : 0;
		constant -= weights[j] * l->means[j];
	}
	weights[l->k] = constant;
}

int linear_fit(const struct training_rows *rows, double *weights, double *means)
{
	struct linear l = { .rows = rows, .n = rows->n, .k = rows->n_features, .means = means };
	int rc = -ENOMEM;

	l.q = malloc(l.n * l.k * sizeof(*l.q));
	l.r = calloc(l.k * l.k, sizeof(*l.r));
	l.residual = malloc(l.n * sizeof(*l.residual));
	if (l.q && l.r && l.residual) {
		for (size_t j = 0; j < l.k; j++)
			orthogonalise(&l, j);
		for (size_t o = 0; o < rows->n_outputs; o++)
			fit_output(&l, rows->y + o * l.n, weights + o * (l.k + 1));
		rc = 0;
	}
	free(l.q);
	free(l.r);
	free(l.residual);
	return rc;
}
