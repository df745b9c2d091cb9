/*
 * mps_equal.c - the policy `mps-equal`: first come first served, the next free GPU takes up to two jobs with equal
 * shares, at the default clock. Where GPUs outnumber jobs, each job gets a GPU of its own.
 */
#include "plan/batch/sharing.h"
#include "policy/decide.h"

#define JOBS_A_GPU 2

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
static struct hes_group take_next(const struct hes_problem *p, uint32_t type, size_t next, size_t most)
{
	struct hes_group g = { .n = 0 };

	while (g.n < most && next < p->n) {
		struct hes_group grown = g;

		grown.m[grown.n++].job = (uint32_t)next++;
		if (!hes_group_fits(p, type, &grown))
			break;
		g = grown;
	}
	for (uint32_t i = 0; i < g.n; i++)
		g.m[i].sm_pct = HES_SHARE_SUM_PCT / g.n;
	return g;
}

int hes_decide_mps_equal(const struct hes_problem *p, struct hes_plan *plan, struct hes_front *front)
{
	struct hes_group g;
	int rc = 0;

	(void)front;
	for (size_t i = 0; i < p->n && !rc; i += g.n) {
		const size_t gpu = hes_next_free_gpu(p, plan, i, hes_alone_us);
		const uint32_t type = p->gpus[gpu].type;
		const size_t free_gpus = count_free(p, plan, gpu), each = (p->n - i + free_gpus - 1) / free_gpus;

		g = take_next(p, type, i, each < JOBS_A_GPU ? each : JOBS_A_GPU);
		rc = hes_compose_batch(p, plan, gpu, p->types[type]->clock_default_mhz, &g);
	}
	return rc;
}
