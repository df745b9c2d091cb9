/*
 * sorted_rows.c - a stable radix sort of floats, and rows sorted by target; see sorted_rows.h.
 */
#include "trees/sorted_rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11 /* three passes */
#define DIGITS     (1u << DIGIT_BITS)

/* Rises as the value does; zeros of both signs are one; missing comes last. */
static uint32_t key_of(float value)
{
	float x = value + 0.0f;
	uint32_t bits;

	if (isnan(x))
		return UINT32_MAX;
	memcpy(&bits, &x, sizeof(bits));
	return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

static void sort_pass(const struct grow_keyed *from, struct grow_keyed *to, size_t n, unsigned shift)
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

void grow_sort_keyed(struct grow_keyed *a, struct grow_keyed *b, size_t n)
{
	sort_pass(a, b, n, 0);
	sort_pass(b, a, n, DIGIT_BITS);
	sort_pass(a, b, n, 2 * DIGIT_BITS);
}

static void sort_feature(const float *x, size_t n, struct grow_keyed *a, struct grow_keyed *b, uint32_t *rows,
			 uint32_t *n_present)
{
	for (size_t i = 0; i < n; i++)
		a[i] = (struct grow_keyed){ key_of(x[i]), (uint32_t)i };
	grow_sort_keyed(a, b, n);
	*n_present = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		rows[i] = b[i].row;
		*n_present -= b[i].key == UINT32_MAX;
	}
}

int grow_order_init(struct grow_order *o, const float *x, size_t n_rows, size_t n_features)
{
	struct grow_keyed *a = malloc(n_rows * sizeof(*a)), *b = malloc(n_rows * sizeof(*b));
	struct grow_order t = {
		.rows = malloc(n_rows * n_features * sizeof(*t.rows)),
		.n_present = malloc(n_features * sizeof(*t.n_present)),
		.n_rows = n_rows,
		.n_features = n_features,
	};
	int rc = a && b && t.rows && t.n_present ? 0 : -ENOMEM;

	for (size_t f = 0; f < n_features && !rc; f++)
		sort_feature(x + f * n_rows, n_rows, a, b, t.rows + f * n_rows, &t.n_present[f]);
	free(a);
	free(b);
	if (rc)
		grow_order_finish(&t);
	else
		*o = t;
	return rc;
}

void grow_order_finish(struct grow_order *o)
{
	free(o->rows);
	free(o->n_present);
	*o = (struct grow_order){ 0 };
}

static int by_target(const void *a, const void *b)
{
	const struct grow_target *x = a, *y = b;

	if (x->y != y->y)
		return x->y < y->y ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

void grow_sort_by_target(uint32_t *rows, size_t n, const double *y, struct grow_target *spare)
{
	for (size_t i = 0; i < n; i++)
		spare[i] = (struct grow_target){ y[rows[i]], rows[i] };
	qsort(spare, n, sizeof(*spare), by_target);
	for (size_t i = 0; i < n; i++)
		rows[i] = spare[i].row;
}
