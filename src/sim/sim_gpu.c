/*
 * sim_gpu.c - rates, power and progress on one GPU; see sim_gpu.h.
 */
#include "sim/sim_gpu.h"

#include <errno.h>
#include <math.h>

#define SLACK_US 1e-3 /* work left for so short a time is rounding of a double */

/* Noise moves what the load adds to the idle GPU, and never past the limit. */
static uint32_t noisy_power(const struct sim_gpu *b, uint32_t power_mw)
{
	double idle = b->type->idle_power_mw, limit = b->type->power_limit_mw;
	double p = idle + ((double)power_mw - idle) * b->power_factor;

	if (b->power_factor == 1)
		return power_mw;
	return (uint32_t)lround(fmin(fmax(p, 0), fmax(limit, power_mw)));
}

static bool is_starting(const struct sim_gpu *b, const struct sim_task *t)
{
	return t->begins_us > b->now.start_us;
}

static bool works(const struct sim_gpu *b, const struct sim_task *t)
{
	return !t->held && !is_starting(b, t);
}

int sim_gpu_refresh(struct sim_gpu *b, const struct hes_model *m, struct hes_err *err)
{
	struct hes_model_job r[HES_MAX_SHARING];
	struct hes_rate rates[HES_MAX_SHARING];
	struct hes_instant at;
	double util = 0;
	size_t n = 0;
	int rc;

	b->clock_mhz = 0;
	for (uint32_t i = 0; i < b->n; i++) {
		b->clock_mhz =
			b->tasks[i].clock_mhz > b->clock_mhz ? b->tasks[i].clock_mhz : b->clock_mhz;
		if (works(b, &b->tasks[i]))
			r[n++] = (struct hes_model_job){ b->tasks[i].workload,
							 b->tasks[i].batch_size,
							 b->tasks[i].sm_pct };
	}
	if (b->ordered_mhz)
		b->clock_mhz = b->ordered_mhz;
	rc = hes_model_instant(m, b->type, b->clock_mhz, 0, r, n, rates, &at, err);
	if (rc)
		return rc;
	n = 0;
	for (uint32_t i = 0; i < b->n; i++) {
		b->tasks[i].rate = 0;
		b->tasks[i].seen = (struct hes_rate){ 0 };
		if (!works(b, &b->tasks[i]))
			continue;
		b->tasks[i].rate = rates[n].iterations_per_s * b->tasks[i].pace;
		b->tasks[i].seen = rates[n];
		b->tasks[i].seen.iterations_per_s = b->tasks[i].rate;
		util += rates[n++].sm_util;
	}
	b->now.jobs = b->n;
	b->now.power_mw = noisy_power(b, at.power_mw);
	b->now.clock_mhz = at.clock_mhz;
	b->now.sm_util = (float)fmin(util, 1);
	return 0;
}

int64_t sim_gpu_next_us(const struct sim_gpu *b)
{
	double first = INFINITY;

	for (uint32_t i = 0; i < b->n; i++)
		first = fmin(first,
			     b->tasks[i].rate > 0 ? b->tasks[i].left / b->tasks[i].rate : INFINITY);
	first *= 1e6;
	for (uint32_t i = 0; i < b->n; i++)
		if (is_starting(b, &b->tasks[i]))
			first = fmin(first, (double)(b->tasks[i].begins_us - b->now.start_us));
	if (!(first <= (double)SIM_LONGEST_US))
		return -ERANGE;
	return first <= 1 ? 1 : (int64_t)ceil(first - SLACK_US);
}

void sim_gpu_settle(struct sim_gpu *b, int64_t now_us, struct hes_segment *out)
{
	double s = (double)(now_us - b->now.start_us) * 1e-6;

	for (uint32_t i = 0; i < b->n; i++)
		b->tasks[i].left -= b->tasks[i].rate * s;
	b->now.end_us = now_us;
	*out = b->now;
	b->now.start_us = now_us;
}

bool sim_task_done(const struct sim_task *t)
{
	return t->left <= t->rate * (2 * SLACK_US * 1e-6);
}
