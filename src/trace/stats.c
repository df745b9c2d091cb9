/*
 * stats.c - a trace in a few figures; see trace.h.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/rows.h"
#include "trace/source.h"

const double hes_trace_quantiles[HES_TRACE_QUANTILES] = { 0,   0.05, 0.25, 0.5, 0.75,
							  0.9, 0.95, 0.99, 1 };

const uint32_t hes_trace_gpu_sizes[HES_TRACE_GPU_SIZES] = { 999,  1000,  2000,      4000,
							    8000, 16000, UINT32_MAX };

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Linear between order statistics, as R's type 7; sorts @v. */
static void fill_quantiles(int64_t *v, size_t n, int64_t *out)
{
	qsort(v, n, sizeof(*v), by_value);
	for (size_t i = 0; i < HES_TRACE_QUANTILES; i++) {
		double at = hes_trace_quantiles[i] * (double)(n - 1);
		size_t low = (size_t)at, high = low + 1 < n ? low + 1 : low;

		out[i] = v[low] + llround((at - (double)low) * (double)(v[high] - v[low]));
	}
}

static void add_row(struct hes_trace_summary *s, const struct hes_trace_row *r, int64_t first_us)
{
	size_t size = 0;

	while (r->gpu_milli > hes_trace_gpu_sizes[size])
		size++;
	s->by_gpus[size]++;
	s->by_hour[(r->arrival_us - first_us) / 3600000000 % 24]++;
	s->gpu_hours += r->gpu_milli / 1e3 * (double)r->runtime_us / 3.6e9;
	s->mean_runtime_s += (double)r->runtime_us / 1e6;
}

static void summarise(const struct rows *rows, int64_t *scratch, struct hes_trace_summary *s)
{
	for (size_t i = 0; i < rows->n; i++)
		scratch[i] = rows->v[i].runtime_us;
	fill_quantiles(scratch, rows->n, s->runtime_us);
	for (size_t i = 0; i < rows->n; i++)
		scratch[i] = rows->v[i].arrival_us;
	qsort(scratch, rows->n, sizeof(*scratch), by_value);
	s->jobs = rows->n;
	s->span_us = scratch[rows->n - 1] - scratch[0];
	for (size_t i = 0; i < rows->n; i++)
		add_row(s, &rows->v[i], scratch[0]);
	s->mean_runtime_s /= (double)rows->n;
	for (size_t i = 0; i + 1 < rows->n; i++)
		scratch[i] = scratch[i + 1] - scratch[i];
	if (rows->n > 1)
		fill_quantiles(scratch, rows->n - 1, s->gap_us);
}

int hes_trace_summarise(struct hes_trace *t, struct hes_trace_summary *out, struct hes_err *err)
{
	struct hes_trace_summary s = { 0 };
	struct rows rows;
	int64_t *scratch;
	int rc;

	if (t->no_runtimes)
		return hes_fail(err, -EINVAL,
				"%s: this log has iterations and no run times to summarise",
				hes_trace_name(t));
	rc = rows_read(t, NULL, NULL, &rows, err);
	if (rc)
		return rc;
	if (rows.n == 0)
		return rows_none(t, "jobs", -EINVAL, err);
	scratch = malloc(rows.n * sizeof(*scratch));
	if (scratch) {
		summarise(&rows, scratch, &s);
		memcpy(s.skipped, hes_trace_skipped(t), sizeof(s.skipped));
		*out = s;
	} else {
		rc = hes_fail(err, -ENOMEM, "%s: out of memory for %zu jobs", hes_trace_name(t),
			      rows.n);
	}
	free(scratch);
	rows_free(&rows);
	return rc;
}
