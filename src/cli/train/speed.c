/*
 * speed.c - time a regressor's answers; see speed.h.
 *
 * A pass of single rows goes on where the last one stopped, so that no row
 * is asked again while the caches still hold its path, as far as there are rows.
 */
#include "cli/train/speed.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cli/cli.h"

#define CALLS      100 /* single rows in a pass: too few to lose the processor in most passes, enough to outlast the clock's tick */
#define MIN_PASSES 5
#define MAX_PASSES 1001
#define ENOUGH_S   0.1 /* of passes, once there are MIN_PASSES */

struct timing {
	const struct hes_regressor *r;
	const float *rows;
	size_t       n, n_features;
	uint32_t     threads;
	size_t       at;    /* the next single row */
	double      *out;   /* n rows of outputs */
};

static void ask_single_rows(struct timing *t)
{
	for (int i = 0; i < CALLS; i++) {
		hes_regressor_predict(t->r, t->rows + t->at * t->n_features, t->out);
		t->at = t->at + 1 < t->n ? t->at + 1 : 0;
	}
}

static void ask_all_rows(struct timing *t)
{
	hes_regressor_predict_rows(t->r, t->rows, t->n, t->out, t->threads);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Seconds of a pass: the median, or the least, which other work on the machine disturbs least; one pass before warms up. */
static double pass_s(struct timing *t, void (*pass)(struct timing *t), bool least)
{
	double taken[MAX_PASSES], begin;
	int n = 0;

	pass(t);
	begin = hes_monotonic_s();
	while (n < MAX_PASSES && (n < MIN_PASSES || hes_monotonic_s() - begin < ENOUGH_S)) {
		double start = hes_monotonic_s();

		pass(t);
		taken[n++] = hes_monotonic_s() - start;
	}
	qsort(taken, (size_t)n, sizeof(*taken), by_value);
	return taken[least ? 0 : n / 2];
}

int speed_measure(const struct hes_regressor *r, const float *rows, size_t n, uint32_t threads,
		  struct speed *out, struct hes_err *err)
{
	const struct hes_regressor_info *about = hes_regressor_about(r);
	struct timing t = { .r = r, .rows = rows, .n = n, .n_features = about->n_features, .threads = threads,
			    .out = calloc(n * about->n_outputs, sizeof(*t.out)) };

	if (!t.out)
		return hes_fail(err, -ENOMEM, "out of memory for %zu rows", n);
	out->one_row_us = pass_s(&t, ask_single_rows, false) * 1e6 / CALLS;
	out->rows_per_s = (double)n / pass_s(&t, ask_all_rows, true);
	free(t.out);
	return 0;
}
