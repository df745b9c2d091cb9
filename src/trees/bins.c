/*
 * bins.c - sort feature values into bins; see bins.h.
 */
#include "trees/bins.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trees/boosting.h"

#define DIGIT_BITS 11 /* of a radix sort in three passes */
#define DIGITS     (1u << DIGIT_BITS)
#define MISSING    UINT32_MAX

struct keyed_row {
	uint32_t key, row;
};

/* Keys order as the values do. Zeros of both signs are equal; a missing value is last. */
static uint32_t key_of(float value)
{
	float x = value + 0.0f;
	uint32_t bits;

	if (isnan(x))
		return MISSING;
	memcpy(&bits, &x, sizeof(bits));
	return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

static void sort_by_digit(const struct keyed_row *from, struct keyed_row *to, size_t n,
			  unsigned shift)
{
	uint32_t start[DIGITS] = { 0 }, sum = 0;

	for (size_t i = 0; i < n; i++)
		start[from[i].key >> shift & (DIGITS - 1)]++;
	for (size_t d = 0; d < DIGITS; d++) {
		uint32_t here = start[d];

		start[d] = sum;
		sum += here;
	}
	for (size_t i = 0; i < n; i++)
		to[start[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
}

/* By rising value, then by index. @param a  scratch. @return rows that have the feature, the first
 */
static uint32_t sort_rows(const float *x, size_t n, struct keyed_row *a, struct keyed_row *rows)
{
	uint32_t present = 0;

	for (size_t i = 0; i < n; i++) {
		a[i] = (struct keyed_row){ key_of(x[i]), (uint32_t)i };
		present += a[i].key != MISSING;
	}
	sort_by_digit(a, rows, n, 0);
	sort_by_digit(rows, a, n, DIGIT_BITS);
	sort_by_digit(a, rows, n, 2 * DIGIT_BITS);
	return present;
}

static uint32_t count_distinct(const float *x, const struct keyed_row *rows, uint32_t n)
{
	uint32_t distinct = n > 0;

	for (uint32_t i = 1; i < n; i++)
		distinct += x[rows[i].row] != x[rows[i - 1].row];
	return distinct;
}

/* Close a bin once it has its part of the remaining rows. @return the number of bins */
static uint32_t bin_rows(const float *x, const struct keyed_row *rows, uint32_t n, uint32_t at_most,
			 float *cuts, uint8_t *codes, size_t stride)
{
	bool one_each = count_distinct(x, rows, n) <= at_most;
	uint32_t bin = 0, begin = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t have = i + 1 - begin, part = at_most - bin;

		codes[rows[i].row * stride] = (uint8_t)bin;
		if (i + 1 == n || x[rows[i].row] == x[rows[i + 1].row])
			continue;
		if (one_each || (uint64_t)have * part >= n - begin) {
			cuts[bin++] = cut_between(x[rows[i].row], x[rows[i + 1].row]);
			begin = i + 1;
		}
	}
	cuts[bin] = FLT_MAX;
	return n ? bin + 1 : 0;
}

/* @param rows  sorted; the first @n_present have the feature */
static void bin_feature(struct bins *b, size_t f, const float *x, const struct keyed_row *rows,
			uint32_t n_present, uint32_t at_most)
{
	struct bins_feature *feature = &b->features[f];

	*feature = (struct bins_feature){ .first = b->n, .n_missing = n_present < b->n_rows };
	feature->n =
		bin_rows(x, rows, n_present, at_most, b->cuts + b->n, b->codes + f, b->n_features);
	for (size_t i = n_present; i < b->n_rows; i++)
		b->codes[rows[i].row * b->n_features + f] = (uint8_t)feature->n;
	b->n += feature->n + feature->n_missing;
}

int bins_init(struct bins *b, const float *x, size_t n_rows, size_t n_features, uint32_t at_most)
{
	struct keyed_row *scratch = malloc(n_rows * sizeof(*scratch)),
			 *rows = malloc(n_rows * sizeof(*rows));
	struct bins t = {
		.n_rows = n_rows,
		.n_features = n_features,
		.codes = malloc(n_rows * n_features),
		.features = malloc(n_features * sizeof(*t.features)),
		.cuts = malloc(n_features * BINS_MAX * sizeof(*t.cuts)),
	};
	const bool ok = t.codes && t.features && t.cuts && scratch && rows;

	for (size_t f = 0; f < n_features && ok; f++) {
		const float *column = x + f * n_rows;
		const uint32_t n_present = sort_rows(column, n_rows, scratch, rows);

		bin_feature(&t, f, column, rows, n_present,
			    at_most < BINS_MAX ? at_most : BINS_MAX - 1);
	}
	free(scratch);
	free(rows);
	if (ok)
		*b = t;
	else
		bins_finish(&t);
	return ok ? 0 : -ENOMEM;
}

void bins_finish(struct bins *b)
{
	free(b->codes);
	free(b->features);
	free(b->cuts);
	*b = (struct bins){ 0 };
}
