/*
 * drift.c - compare a predictor's recent errors with those at validation; see heshare/drift.h.
 */
#include "heshare/drift.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

struct ranked {
	double error;
	bool recent;
};

static int compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	int d = (x->error > y->error) - (x->error < y->error);

	return d ? d : x->recent - y->recent;
}

static int check(const double *v, size_t n, struct hes_err *err)
{
	for (size_t i = 0; i < n; i++)
		if (!(v[i] >= 0) || isinf(v[i]))
			return hes_fail(err, -EINVAL,
					"error %zu is %g; it must be at least 0 and finite", i,
					v[i]);
	return 0;
}

static double mean(const double *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return n ? sum / (double)n : 0;
}

/*
 * Mann and Whitney's U of the recent errors as a standard normal variable: equal errors share
 * their mean rank, which lowers the variance (Lehmann, Nonparametrics, 1.4); continuity corrected.
 */
static double standard_score(const struct ranked *v, size_t n_validation, size_t n_recent)
{
	double m = (double)n_validation, k = (double)n_recent, n = m + k, ranks = 0, ties = 0, u,
	       variance;

	for (size_t i = 0, end; i < n_validation + n_recent; i = end) {
		double equal, mean_rank;

		end = i + 1;
		while (end < n_validation + n_recent && v[end].error <= v[i].error)
			end++;
		equal = (double)(end - i);
		mean_rank = (double)i + (equal + 1) / 2;
		ties += equal * equal * equal - equal;
		for (size_t j = i; j < end; j++)
			ranks += v[j].recent ? mean_rank : 0;
	}
	u = ranks - k * (k + 1) / 2 - m * k / 2;
	variance = m * k / 12 * (n + 1 - ties / (n * (n - 1)));
	return variance > 0 ? (u - 0.5) / sqrt(variance) : 0;
}

static int rank(const double *validation, const double *recent, struct hes_drift *d,
		struct hes_err *err)
{
	size_t n = d->n_validation + d->n_recent;
	struct ranked *v = calloc(n, sizeof(*v));

	if (!v)
		return hes_fail(err, -ENOMEM, "out of memory for %zu errors", n);
	for (size_t i = 0; i < d->n_validation; i++)
		v[i] = (struct ranked){ validation[i], false };
	for (size_t i = 0; i < d->n_recent; i++)
		v[d->n_validation + i] = (struct ranked){ recent[i], true };
	qsort(v, n, sizeof(*v), compare);
	d->chance = erfc(standard_score(v, d->n_validation, d->n_recent) / sqrt(2)) / 2;
	free(v);
	return 0;
}

int hes_drift_judge(const double *validation, size_t n_validation, const double *recent,
		    size_t n_recent, struct hes_drift *out, struct hes_err *err)
{
	struct hes_drift d = {
		.n_validation = n_validation,
		.n_recent = n_recent,
		.validation = mean(validation, n_validation),
		.recent = mean(recent, n_recent),
		.chance = 1,
		.verdict = HES_DRIFT_UNKNOWN,
	};
	int rc = check(validation, n_validation, err);

	if (!rc)
		rc = check(recent, n_recent, err);
	if (!rc && n_validation >= HES_DRIFT_MIN_ROWS && n_recent >= HES_DRIFT_MIN_ROWS) {
		rc = rank(validation, recent, &d, err);
		d.verdict =
			d.recent >= HES_DRIFT_RATIO * d.validation && d.chance < HES_DRIFT_CHANCE
				? HES_DRIFT_DUE
				: HES_DRIFT_NONE;
	}
	if (!rc)
		*out = d;
	return rc;
}
