/*
 * muserve.c - the policy `muserve`: after mu-Serve (Qiu et al., USENIX ATC
 * 2024) as the HeShare paper compares it: every job on a GPU drawn by lot,
 * first come first served, one at a time, at the clock that takes least energy
 * among those that keep the job within a slowdown bound.
 */
#include "policy/frame.h"
#include "policy/policies.h"

#define MAX_SLOWDOWN 1.2 /* against the default clock */

static uint32_t choose_clock(const struct hes_problem *p, uint32_t type, const struct hes_group *alone)
{
	const struct hes_gpu_type *g = p->types[type];
	const struct hes_cost *base = &p->cost[type * p->n + alone->m[0].job];
	uint32_t best = g->clock_default_mhz;
	double least_mj = base->energy_mj;

	for (size_t i = 0; i < g->n_clocks; i++) {
		struct hes_group_cost c;

		hes_group_run(p, type, g->clocks_mhz[i], alone, &c);
		if (!c.far && c.last_us <= MAX_SLOWDOWN * base->time_us && c.energy_mj < least_mj) {
			best = g->clocks_mhz[i];
			least_mj = c.energy_mj;
		}
	}
	return best;
}

static int decide(const struct hes_problem *p, struct hes_plan *plan, struct hes_front *front)
{
	int rc = 0;

	(void)front;
	for (size_t i = 0; i < p->n && !rc; i++) {
		const struct hes_group alone = { 1, { { (uint32_t)i, 100 } } };
		const size_t gpu = hes_draw_gpu(p, i);

		rc = hes_compose_batch(p, plan, gpu, choose_clock(p, p->gpus[gpu].type, &alone), &alone);
	}
	return rc;
}

static int plan_muserve(const struct hes_request *r, struct hes_plan *out, struct hes_front *front,
			struct hes_err *err)
{
	return hes_policy_run(&hes_policy_muserve, decide, r, out, front, err);
}

const struct hes_policy hes_policy_muserve = {
	.name = "muserve",
	.summary = "a GPU by lot, one job at a time, the thriftiest clock within a slowdown bound",
	.max_work = 2000000000,
	.plan = plan_muserve,
};
