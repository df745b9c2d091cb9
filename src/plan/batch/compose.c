/*
 * compose.c - from groups to a plan; see compose.h.
 */
#include "plan/batch/compose.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "plan/batch/sharing.h"

#define LONGEST_US 1e16 /* 300 years; sums of a few stay within an int64_t */

int64_t hes_compose_free_us(const struct hes_problem *p, const struct hes_plan *plan, size_t gpu)
{
	const struct hes_queue *q = &plan->queues[gpu];

	if (q->together) {
		int64_t free_us = p->request->now_us;

		for (size_t b = 0; b < q->n; b++)
			free_us = q->batches[b].end_us > free_us ? q->batches[b].end_us : free_us;
		return free_us;
	}
	if (q->n)
		return q->batches[q->n - 1].end_us;
	return p->request->now_us + (int64_t)p->gpus[gpu].wait_us;
}

int hes_compose_batch(const struct hes_problem *p, struct hes_plan *plan, size_t gpu,
		      uint32_t clock_mhz, const struct hes_group *g)
{
	const int64_t start_us = hes_compose_free_us(p, plan, gpu);
	struct hes_batch b = { .clock_mhz = clock_mhz, .n = g->n, .start_us = start_us };
	struct hes_timeline_times parts[HES_MAX_SHARING];
	struct hes_group_cost c;
	uint32_t shares_pct = 0;
	int rc;

	hes_group_run_parts(p, p->gpus[gpu].type, clock_mhz, g, &c, parts);
	if (!((double)start_us + c.last_us <= LONGEST_US))
		return -ERANGE;
	for (uint32_t i = 0; i < g->n; i++)
		b.jobs[i] = (struct hes_placement){
			.job = p->jobs[g->m[i].job].job,
			.sm_pct = g->m[i].sm_pct,
			.start_us = start_us,
			.end_us = start_us + llround(c.end_us[i]),
			.outside = c.outside[i],
			.activity_mw = (uint32_t)llround(parts[i].activity_w * 1e3),
			.energy_mj = (uint64_t)llround(parts[i].energy_mj),
		};
	b.end_us = start_us + llround(c.last_us);
	b.energy_mj = (uint64_t)llround(c.energy_mj);
	rc = hes_plan_append(plan, gpu, &b);
	for (uint32_t i = 0; i < g->n; i++)
		shares_pct += g->m[i].sm_pct;
	if (!rc && shares_pct > HES_SHARE_SUM_PCT && shares_pct > plan->queues[gpu].shares_pct)
		plan->queues[gpu].shares_pct = shares_pct;
	return rc;
}

/* The rest of the jobs that run on a GPU. */
static int append_remainders(const struct hes_problem *p, struct hes_plan *plan, size_t gpu,
			     const struct hes_timeline_times *times)
{
	const size_t first = p->first_running[gpu], n = p->first_running[gpu + 1] - first;
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		const struct hes_remainder o = {
			.job = p->jobs[p->running[first + i].at].job,
			.end_us = p->request->now_us + llround(times[i].end_us),
			.energy_mj = (uint64_t)llround(times[i].energy_mj),
		};

		rc = hes_plan_append_remainder(plan, &o);
	}
	return rc;
}

int hes_compose_open(const struct hes_problem *p, struct hes_plan *plan, size_t gpu,
		     const struct hes_timeline_item *items, size_t n)
{
	const int64_t now_us = p->request->now_us;
	struct hes_timeline_times *times = calloc(n + 1, sizeof(*times)), running[HES_MAX_SHARING];
	struct hes_timeline_cost cost;
	int rc = times ? 0 : -ENOMEM;

	if (times)
		hes_timeline_run_all(p, p->rates, gpu, items, n, &cost, times, running);
	if (times && !((double)now_us + cost.last_us <= LONGEST_US))
		rc = -ERANGE;
	for (size_t i = 0; i < n && !rc; i++) {
		struct hes_batch b = {
			.clock_mhz = p->types[p->gpus[gpu].type]->clocks_mhz[items[i].clock], .n = 1
		};

		b.start_us = now_us + llround(times[i].start_us);
		b.end_us = now_us + llround(times[i].end_us);
		b.energy_mj = (uint64_t)llround(times[i].energy_mj);
		b.jobs[0] = (struct hes_placement){
			.job = p->jobs[items[i].job].job,
			.sm_pct = hes_timeline_share(p->types[p->gpus[gpu].type], &items[i]),
			.start_us = b.start_us,
			.end_us = b.end_us,
			.outside = times[i].outside,
			.activity_mw = (uint32_t)llround(times[i].activity_w * 1e3),
			.energy_mj = b.energy_mj,
		};
		rc = hes_plan_append(plan, gpu, &b);
	}
	if (!rc && n) {
		plan->queues[gpu].together = p->types[p->gpus[gpu].type]->alone ? 1 : p->together;
		plan->queues[gpu].shares_pct = p->shares_pct[p->gpus[gpu].type];
	}
	free(times);
	return rc ? rc : append_remainders(p, plan, gpu, running);
}

int hes_compose_assignment(const struct hes_problem *p, const struct hes_assignment *x,
			   struct hes_plan *plan)
{
	int rc = 0;

	for (size_t g = 0; g < p->k; g++)
		for (uint32_t i = x->first[g]; i < x->first[g + 1] && !rc; i++) {
			const struct hes_group alone = { 1, { { x->queue[i], 100 } } };

			rc = hes_compose_batch(
				p, plan, g, p->types[p->gpus[g].type]->clock_default_mhz, &alone);
		}
	return rc;
}

/* Add the totals of one GPU's queue. */
static void add_queue(const struct hes_problem *p, const struct hes_queue *q, struct hes_totals *t,
		      double *jct_us)
{
	for (size_t b = 0; b < q->n; b++) {
		const struct hes_batch *batch = &q->batches[b];

		t->busy_energy_mj += batch->energy_mj;
		t->makespan_us = batch->end_us > t->makespan_us ? batch->end_us : t->makespan_us;
		for (uint32_t i = 0; i < batch->n; i++)
			*jct_us += (double)(batch->jobs[i].end_us -
					    p->request->jobs->v[batch->jobs[i].job].arrival_us);
	}
}

void hes_compose_totals(const struct hes_problem *p, struct hes_plan *plan)
{
	struct hes_totals t = { 0 };
	double jct_us = 0, idle_mj = 0;

	for (size_t g = 0; g < p->k; g++)
		add_queue(p, &plan->queues[g], &t, &jct_us);
	for (size_t g = 0; g < p->k; g++) {
		int64_t idle_us = t.makespan_us - hes_compose_free_us(p, plan, g);

		if (idle_us > 0)
			idle_mj +=
				(double)idle_us * p->types[p->gpus[g].type]->idle_power_mw * 1e-6;
	}
	t.avg_jct_us = p->n ? jct_us / (double)p->n : 0;
	t.fleet_energy_mj = t.busy_energy_mj + (uint64_t)llround(idle_mj);
	plan->predicted = t;
}
