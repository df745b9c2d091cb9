/*
 * deviation.c - absolute deviations of two groups; see deviation.h.
 */
#include "predict/deviation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int deviation_init(struct deviation *d, size_t max_rows)
{
	size_t n = max_rows + 1;

	*d = (struct deviation){
		.value = malloc(n * sizeof(*d->value)),
		.own = malloc(n * sizeof(*d->own)),
		.left = malloc(n * sizeof(*d->left)),
		.right = malloc(n * sizeof(*d->right)),
		.whole = malloc(n * sizeof(*d->whole)),
		.rank = malloc(n * sizeof(*d->rank)),
	};
	return d->value && d->own && d->left && d->right && d->whole && d->rank ? 0 : -ENOMEM;
}

void deviation_finish(struct deviation *d)
{
	free(d->value);
	free(d->own);
	free(d->left);
	free(d->right);
	free(d->whole);
	free(d->rank);
	*d = (struct deviation){ 0 };
}

static void add(struct mass *to, const struct mass *m, double sign)
{
	to->weight += sign * m->weight;
	to->sum += sign * m->sum;
}

static void fenwick_add(struct mass *tree, size_t n, size_t rank, const struct mass *m, double sign)
{
	for (size_t i = rank + 1; i <= n; i += i & (~i + 1))
		add(&tree[i], m, sign);
}

void deviation_load(struct deviation *d, const uint32_t *rows, size_t n, const double *y,
		    const double *weight)
{
	d->n = n;
	for (d->top = 1; d->top * 2 <= n; d->top *= 2)
		;
	d->whole_total = (struct mass){ 0 };
	memset(d->whole, 0, (n + 1) * sizeof(*d->whole));
	for (size_t i = 0; i < n; i++) {
		double w = weight[rows[i]], v = y[rows[i]];

		d->rank[rows[i]] = (uint32_t)i;
		d->value[i] = v;
		d->own[i] = (struct mass){ w, w * v };
		add(&d->whole_total, &d->own[i], 1);
		fenwick_add(d->whole, n, i, &d->own[i], 1);
	}
}

/* Rank of a group's weighted lower median; @below: mass of the ranks before it. */
static size_t median_rank(const struct deviation *d, const struct mass *tree, double weight,
			  struct mass *below)
{
	size_t at = 0;

	*below = (struct mass){ 0 };
	for (size_t step = d->top; step; step /= 2)
		if (at + step <= d->n && below->weight + tree[at + step].weight < weight / 2) {
			at += step;
			add(below, &tree[at], 1);
		}
	return at < d->n ? at : d->n - 1;
}

static double group_sum(const struct deviation *d, const struct mass *tree, const struct mass *total)
{
	struct mass below;
	double median = d->value[median_rank(d, tree, total->weight, &below)];

	return median * below.weight - below.sum + (total->sum - below.sum) -
	       median * (total->weight - below.weight);
}

double deviation_reset(struct deviation *d)
{
	memset(d->left, 0, (d->n + 1) * sizeof(*d->left));
	memcpy(d->right, d->whole, (d->n + 1) * sizeof(*d->right));
	d->left_total = (struct mass){ 0 };
	d->right_total = d->whole_total;
	return group_sum(d, d->whole, &d->whole_total);
}

void deviation_move(struct deviation *d, uint32_t row)
{
	size_t rank = d->rank[row];
	const struct mass *m = &d->own[rank];

	fenwick_add(d->left, d->n, rank, m, 1);
	fenwick_add(d->right, d->n, rank, m, -1);
	add(&d->left_total, m, 1);
	add(&d->right_total, m, -1);
}

double deviation_sum(const struct deviation *d)
{
	return group_sum(d, d->left, &d->left_total) + group_sum(d, d->right, &d->right_total);
}

double deviation_median(const struct deviation *d)
{
	struct mass below;

	return d->value[median_rank(d, d->whole, d->whole_total.weight, &below)];
}
