/*
 * check.c - errors against measurements, summed up a series; see check.h.
 */
#include "model/check.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int collect(const struct hes_model *m, const struct hes_observations *o, enum hes_series_id series,
		   double *errors, size_t *n, struct hes_err *err)
{
	*n = 0;
	for (size_t i = 0; i < o->n; i++) {
		double value;
		int rc;

		if (o->v[i].series != series)
			continue;
		rc = hes_reproduce(m, &o->v[i], &value, err);
		if (rc)
			return rc;
		errors[(*n)++] = fabs(value / o->v[i].measured - 1);
	}
	return 0;
}

static struct hes_check_row sum_up(const struct hes_series *s, double *errors, size_t n)
{
	struct hes_check_row row = { .series = s, .n = n, .met = true };

	if (n == 0)
		return row;
	qsort(errors, n, sizeof(*errors), by_size);
	row.median = n % 2 ? errors[n / 2] : (errors[n / 2 - 1] + errors[n / 2]) / 2;
	row.p90 = errors[(n - 1) * 9 / 10];
	row.met = (s->target == 0 || row.median <= s->target) &&
		  (s->target_p90 == 0 || row.p90 <= s->target_p90);
	return row;
}

int hes_model_check(const struct hes_model *m, const struct hes_observations *o,
		    struct hes_check_row *rows, struct hes_err *err)
{
	double *errors = malloc((o->n + 1) * sizeof(*errors));
	int rc = 0;

	if (!errors)
		return hes_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; !rc && i < HES_SERIES_COUNT; i++) {
		size_t n;

		rc = collect(m, o, (enum hes_series_id)i, errors, &n, err);
		if (!rc)
			rows[i] = sum_up(&hes_series[i], errors, n);
	}
	free(errors);
	return rc;
}
