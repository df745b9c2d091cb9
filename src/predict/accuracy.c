/*
 * accuracy.c - estimates against measurements: errors, and how often intervals hold; see accuracy.h
 * and heshare/predict.h.
 */
#include "predict/accuracy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct hes_accuracy accuracy_measure(const double *y, const double *p, size_t stride, size_t n)
{
	double mean = 0, difference = 0, relative = 0, residual = 0, total = 0;

	for (size_t i = 0; i < n; i++)
		mean += y[i];
	mean /= (double)n;
	for (size_t i = 0; i < n; i++) {
		double off = y[i] - p[i * stride];

		difference += fabs(off);
		relative += fabs(off) / fabs(y[i]);
		residual += off * off;
		total += (y[i] - mean) * (y[i] - mean);
	}
	return (struct hes_accuracy){
		.rows = n,
		.mae = difference / (double)n,
		.r2 = total > 0 ? 1 - residual / total : 0,
		.abs_error_pct = 100 * (difference / (double)n / fabs(mean)),
		.rel_error_pct = 100 * (relative / (double)n),
	};
}

static int rising(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), rising);
	return v[n / 2];
}

/* @param width  of the intervals of time and power, n apart */
static void count_covered(const struct hes_sample *s, const struct hes_estimate *e,
			  struct hes_coverage *sum, double *width, size_t n)
{
	sum->time +=
		s->iteration_us >= e->iteration_low_us && s->iteration_us <= e->iteration_high_us;
	sum->power += s->power_mw >= e->power_low_mw && s->power_mw <= e->power_high_mw;
	sum->outside += e->outside != 0;
	width[0] = e->iteration_high_us / e->iteration_us - 1;
	width[n] = e->power_mw ? (double)e->power_high_mw / e->power_mw - 1 : 0;
}

int hes_estimates_test(const struct hes_samples *s, const struct hes_estimate *predicted,
		       double coverage, struct hes_test *out, struct hes_err *err)
{
	const size_t n = s->n;
	struct hes_coverage sum = { .stated = coverage };
	double *v = calloc(6 * n + 1, sizeof(*v)), *width;

	if (!v)
		return hes_fail(err, -ENOMEM, "out of memory for %zu samples", n);
	width = v + 4 * n;
	*out = (struct hes_test){ .cover = sum };
	for (size_t i = 0; i < n; i++) {
		v[i] = s->v[i].iteration_us;
		v[n + i] = predicted[i].iteration_us;
		v[2 * n + i] = s->v[i].power_mw;
		v[3 * n + i] = predicted[i].power_mw;
		count_covered(&s->v[i], &predicted[i], &sum, width + i, n);
	}
	if (n) {
		sum.time /= (double)n;
		sum.power /= (double)n;
		sum.time_width = median(width, n);
		sum.power_width = median(width + n, n);
		*out = (struct hes_test){ accuracy_measure(v, v + n, 1, n),
					  accuracy_measure(v + 2 * n, v + 3 * n, 1, n), sum };
	}
	free(v);
	return 0;
}
