/*
 * mps_equal.c - the policy `mps-equal`: first come first served, the next
 * free GPU takes up to a fixed number of jobs with equal shares, at the default
 * clock. While GPUs outnumber jobs, jobs are spread before they share.
 */
#include "plan/batch/sharing.h"
#include "policy/frame.h"
#include "policy/policies.h"

#define JOBS_A_GPU 2

static double run_time(const struct hes_problem *p, size_t job, uint32_t type)
{
	return p->cost[type * p->n + job].time_us;
}

/* GPUs that are free no later than @gpu. */
static size_t count_free(const struct hes_problem *p, const struct hes_plan *plan, size_t gpu)
{
	const int64_t at_us = hes_compose_free_us(p, plan, gpu);
	size_t n = 0;

	for (size_t g = 0; g < p->k; g++)
		n += hes_compose_free_us(p, plan, g) <= at_us;
	return n;
}

/* The next jobs in turn, as many as fit. */
static void take(const struct hes_problem *p, uint32_t type, size_t next, size_t most, struct hes_group *g)
{
	*g = (struct hes_group){ .n = 0 };
	while (g->n < most && next < p->n) {
		struct hes_group grown = *g;

		grown.m[grown.n++].job = (uint32_t)next++;
		if (!hes_group_fits(p, type, &grown))
			break;
		*g = grown;
	}
	for (uint32_t i = 0; i < g->n; i++)
		g->m[i].sm_pct = HES_SHARE_SUM_PCT / g->n;
}

static int decide(const struct hes_problem *p, struct hes_plan *plan, struct hes_front *front)
{
	struct hes_group g;
	int rc = 0;

	(void)front;
	for (size_t i = 0; i < p->n && !rc; i += g.n) {
		const size_t gpu = hes_next_free_gpu(p, plan, i, run_time);
		const uint32_t type = p->gpus[gpu].type;
		const size_t free_gpus = count_free(p, plan, gpu), each = (p->n - i + free_gpus - 1) / free_gpus;

		take(p, type, i, each < JOBS_A_GPU ? each : JOBS_A_GPU, &g);
		rc = hes_compose_batch(p, plan, gpu, p->types[type]->clock_default_mhz, &g);
	}
	return rc;
}

static int plan_mps_equal(const struct hes_request *r, struct hes_plan *out, struct hes_front *front,
			  struct hes_err *err)
{
	return hes_policy_run(&hes_policy_mps_equal, decide, r, out, front, err);
}

const struct hes_policy hes_policy_mps_equal = {
	.name = "mps-equal",
	.summary = "the next free GPU for jobs in turn, two at a time with half the SMs each, default clock",
	.max_work = 2000000000,
	.plan = plan_mps_equal,
};
