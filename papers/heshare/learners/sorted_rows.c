/*
 * sorted_rows.c - a stable radix sort of each feature; see sorted_rows.h.
 */
#include "sorted_rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11 /* three passes */
#define DIGITS     (1u << DIGIT_BITS)

struct keyed_row {
	uint32_t key, row;
};

/* Keys order as the values do. Zeros of both signs are equal; a missing value is last. */
static uint32_t key_of(float value)
{
	float x = value + 0.0f;
	uint32_t bits;

	if (isnan(x))
		return UINT32_MAX;
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

static void sort_feature(const float *x, size_t n, struct keyed_row *a, struct keyed_row *b,
			 uint32_t *rows, uint32_t *n_present)
{
	for (size_t i = 0; i < n; i++)
		a[i] = (struct keyed_row){ key_of(x[i]), (uint32_t)i };
	sort_by_digit(a, b, n, 0);
	sort_by_digit(b, a, n, DIGIT_BITS);
	sort_by_digit(a, b, n, 2 * DIGIT_BITS);
	*n_present = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		rows[i] = b[i].row;
		*n_present -= b[i].key == UINT32_MAX;
	}
}

int sorted_rows_init(struct sorted_rows *s, const float *x, size_t n, size_t n_features)
{
	struct keyed_row *a = malloc(n * sizeof(*a)), *b = malloc(n * sizeof(*b));
	struct sorted_rows made = {
		.rows = malloc(n * n_features * sizeof(*made.rows)),
		.n_present = malloc(n_features * sizeof(*made.n_present)),
		.n = n,
		.n_features = n_features,
	};
	int rc = a && b && made.rows && made.n_present ? 0 : -ENOMEM;

	for (size_t f = 0; f < n_features && !rc; f++)
		sort_feature(x + f * n, n, a, b, made.rows + f * n, &made.n_present[f]);
	free(a);
	free(b);
	if (rc)
		sorted_rows_finish(&made);
	else
		*s = made;
	return rc;
}

void sorted_rows_finish(struct sorted_rows *s)
{
	free(s->rows);
	free(s->n_present);
	*s = (struct sorted_rows){ 0 };
}
