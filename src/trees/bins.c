/*
 * bins.c - sort feature values into bins; see bins.h.
 */
#include "trees/bins.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "trees/boosting.h"
#include "trees/sorted_rows.h"

static uint32_t count_distinct(const float *x, const uint32_t *rows, uint32_t n)
{
	uint32_t distinct = n > 0;

	for (uint32_t i = 1; i < n; i++)
		distinct += x[rows[i]] != x[rows[i - 1]];
	return distinct;
}

/* Close a bin once it has its part of the remaining rows. @return the number of bins */
static uint32_t bin_rows(const float *x, const uint32_t *rows, uint32_t n, uint32_t at_most,
			 float *cuts, uint8_t *codes, size_t stride)
{
	bool one_each = count_distinct(x, rows, n) <= at_most;
	uint32_t bin = 0, begin = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t have = i + 1 - begin, part = at_most - bin;

		codes[rows[i] * stride] = (uint8_t)bin;
		if (i + 1 == n || x[rows[i]] == x[rows[i + 1]])
			continue;
		if (one_each || (uint64_t)have * part >= n - begin) {
			cuts[bin++] = cut_between(x[rows[i]], x[rows[i + 1]]);
			begin = i + 1;
		}
	}
	cuts[bin] = FLT_MAX;
	return n ? bin + 1 : 0;
}

static void bin_feature(struct bins *b, size_t f, const float *x, const struct sorted_rows *order,
			uint32_t at_most)
{
	uint32_t n_present = order->n_present[f];
	const uint32_t *rows = order->rows + f * b->n_rows;
	struct bins_feature *feature = &b->features[f];

	*feature = (struct bins_feature){ .first = b->n, .n_missing = n_present < b->n_rows };
	feature->n = bin_rows(x + f * b->n_rows, rows, n_present, at_most, b->cuts + b->n,
			      b->codes + f, b->n_features);
	for (size_t i = n_present; i < b->n_rows; i++)
		b->codes[rows[i] * b->n_features + f] = (uint8_t)feature->n;
	b->n += feature->n + feature->n_missing;
}

int bins_init(struct bins *b, const float *x, size_t n_rows, size_t n_features, uint32_t at_most)
{
	struct bins t = {
		.n_rows = n_rows,
		.n_features = n_features,
		.codes = malloc(n_rows * n_features),
		.features = malloc(n_features * sizeof(*t.features)),
		.cuts = malloc(n_features * BINS_MAX * sizeof(*t.cuts)),
	};
	struct sorted_rows order;

	if (!t.codes || !t.features || !t.cuts || sorted_rows_init(&order, x, n_rows, n_features)) {
		bins_finish(&t);
		return -ENOMEM;
	}
	for (size_t f = 0; f < n_features; f++)
		bin_feature(&t, f, x, &order, at_most < BINS_MAX ? at_most : BINS_MAX - 1);
	sorted_rows_finish(&order);
	*b = t;
	return 0;
}

void bins_finish(struct bins *b)
{
	free(b->codes);
	free(b->features);
	free(b->cuts);
	*b = (struct bins){ 0 };
}
