/*
 * co_features.c - co-runs as rows of numbers; see co_run.h.
 *
 * Invariant: no feature depends on the order of the jobs. What was not measured is NaN.
 */
#include "partition/co_run.h"

#include <math.h>

static double sum_metric(const struct co_run *r, enum hes_metric m)
{
	double sum = 0;

	for (size_t i = 0; i < r->n; i++)
		sum += r->job[i].alone.metric[m];
	return sum;
}

/* The power a job adds, as a part of what the limit leaves. */
static double power_part(const struct co_run *r, size_t i)
{
	double limit = r->g->power_limit_mw * 1e-3;

	return (r->job[i].alone.power_w - r->base_w) / (limit - r->base_w);
}

/* What the co-runners of job @i do, summed, and the strongest of them. */
static size_t put_others(const struct co_run *r, size_t i, float *out)
{
	double sum[HES_METRICS + 3] = { 0 }, dram = 0;
	size_t n = 0;

	for (size_t k = 0; k < r->n; k++) {
		const struct co_job *j = &r->job[k];

		if (k == i)
			continue;
		for (size_t m = 0; m < HES_METRICS; m++)
			sum[m] += j->alone.metric[m];
		sum[HES_METRICS] += j->alone.sm_pct / 100;
		sum[HES_METRICS + 1] += j->fixed / (double)(r->n - 1);
		sum[HES_METRICS + 2] += power_part(r, k);
		dram = fmax(dram, j->alone.metric[HES_METRIC_DRAM]);
	}
	for (size_t m = 0; m < HES_METRICS + 3; m++)
		out[n++] = (float)sum[m];
	out[n++] = (float)dram;
	return n;
}

void co_features_job(const struct co_run *r, size_t i, float out[CO_JOB])
{
	const struct co_job *j = &r->job[i];
	size_t n = put_others(r, i, out);

	for (size_t m = 0; m < HES_METRICS; m++)
		out[n++] = (float)j->alone.metric[m];
	out[n++] = (float)(j->alone.sm_pct / 100);
	out[n++] = (float)j->fixed;
	out[n++] = (float)log(j->alone.rate);
	out[n++] = (float)log(j->alone.rate / r->rate[i]);
	out[n++] = (float)(r->wanted_w * 1e3 / r->g->power_limit_mw);
	out[n++] = (float)(r->clock_mhz / r->g->clock_default_mhz);
}

void co_features_power(const struct co_run *r, float out[CO_POWER])
{
	double share = 0, fixed = 0;
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		share += r->job[i].alone.sm_pct / 100;
		fixed += r->job[i].fixed / (double)r->n;
	}
	for (size_t m = 0; m < HES_METRICS; m++)
		out[n++] = (float)sum_metric(r, (enum hes_metric)m);
	out[n++] = (float)share;
	out[n++] = (float)fixed;
	out[n++] = (float)r->n;
	out[n++] = (float)(r->wanted_w * 1e3 / r->g->power_limit_mw);
	out[n++] = (float)(r->clock_mhz / r->g->clock_default_mhz);
}
