/*
 * pwr.c - the policy `pwr`: after Lettich et al. (CCGrid 2025), each job in
 * turn goes to the free GPU whose power it raises least; no sharing, default
 * clock. When none is free the job waits for the next one.
 */
#include "policy/frame.h"
#include "policy/policies.h"

static double added_power(const struct hes_problem *p, size_t job, uint32_t type)
{
	const struct hes_cost *c = &p->cost[type * p->n + job];

	return c->energy_mj / c->time_us * 1e6 - p->types[type]->idle_power_mw;
}

static int decide(const struct hes_problem *p, struct hes_plan *plan, struct hes_front *front)
{
	int rc = 0;

	(void)front;
	for (size_t i = 0; i < p->n && !rc; i++)
		rc = hes_run_alone(p, plan, hes_next_free_gpu(p, plan, i, added_power), i);
	return rc;
}

static int plan_pwr(const struct hes_request *r, struct hes_plan *out, struct hes_front *front,
		    struct hes_err *err)
{
	return hes_policy_run(&hes_policy_pwr, decide, r, out, front, err);
}

const struct hes_policy hes_policy_pwr = {
	.name = "pwr",
	.summary = "the free GPU whose power a job raises least, one job at a time, default clock",
	.max_work = 2000000000,
	.plan = plan_pwr,
};
