/*
 * cover.c - how often measurements are inside the predicted intervals; see heshare/predict.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "heshare/predict.h"

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

/* Count one sample. @param width  its widths of time and power, n apart */
static void cover(const struct hes_sample *s, const struct hes_estimate *e,
		  struct hes_coverage *sum, double *width, size_t n)
{
	sum->time +=
		s->iteration_us >= e->iteration_low_us && s->iteration_us <= e->iteration_high_us;
	sum->power += s->power_mw >= e->power_low_mw && s->power_mw <= e->power_high_mw;
	sum->outside += e->outside != 0;
	width[0] = e->iteration_high_us / e->iteration_us - 1;
	width[n] = e->power_mw ? (double)e->power_high_mw / e->power_mw - 1 : 0;
}

int hes_estimates_cover(const struct hes_samples *s, const struct hes_estimate *said,
			double coverage, struct hes_coverage *out, struct hes_err *err)
{
	struct hes_coverage sum = { .rows = s->n, .stated = coverage };
	double *width = calloc(2 * s->n + 1, sizeof(*width));

	if (!width)
		return hes_fail(err, -ENOMEM, "out of memory for %zu samples", s->n);
	for (size_t i = 0; i < s->n; i++)
		cover(&s->v[i], &said[i], &sum, width + i, s->n);
	if (s->n) {
		sum.time /= (double)s->n;
		sum.power /= (double)s->n;
		sum.time_width = median(width, s->n);
		sum.power_width = median(width + s->n, s->n);
	}
	*out = sum;
	free(width);
	return 0;
}
