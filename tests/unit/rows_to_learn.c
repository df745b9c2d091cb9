/*
 * rows_to_learn.c - rows of noise and of a known function; see rows_to_learn.h.
 */
#include "rows_to_learn.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"

struct set *set_create(size_t n, size_t n_outputs)
{
	struct set *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->rows = (struct training_rows){ s->x, s->y, n, FEATURES, n_outputs };
	return s;
}

struct set *noise(size_t n, uint64_t values, double missing, uint64_t seed)
{
	struct set *s = set_create(n, 2);
	struct hes_rng rng;

	hes_rng_seed(&rng, seed);
	for (size_t i = 0; i < n * FEATURES; i++) {
		float v = (float)hes_rng_below(&rng, values);

		s->x[i] = hes_rng_unit(&rng) < missing ? NAN : v;
	}
	for (size_t i = 0; i < 2 * n; i++)
		s->y[i] = (double)hes_rng_below(&rng, 1000) / 8;
	return s;
}

void row_of(const struct set *s, size_t i, float *row)
{
	for (size_t f = 0; f < FEATURES; f++)
		row[f] = s->x[f * s->rows.n + i];
}

struct ensemble fit(const struct set *s, const struct boosting_options *o)
{
	struct ensemble e;

	assert_int_equal(boosting_fit(&s->rows, o, &e), 0);
	return e;
}

double mae(const struct ensemble *e, const struct set *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->rows.n; i++) {
		float row[FEATURES];
		double out[2];

		row_of(s, i, row);
		ensemble_predict(e, row, out);
		sum += fabs(out[0] - s->y[i]);
	}
	return sum / (double)s->rows.n;
}

/* Steps and a product of two features; the third feature matters only where the first is low. */
static double known(const float *row)
{
	return (row[0] > 7    ? 4
		: row[2] > 15 ? 9
			      : 1) +
	       (row[1] > 12 ? 32 : 0) + (double)(row[0] * row[1]) / 10;
}

struct set *known_set(size_t n, uint64_t seed)
{
	struct set *s = noise(n, 25, 0, seed);

	for (size_t i = 0; i < n; i++) {
		float row[FEATURES];

		row_of(s, i, row);
		s->y[i] = known(row);
		s->y[n + i] = -2 * known(row);
	}
	return s;
}
