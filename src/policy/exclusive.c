/*
 * exclusive.c - the policy `exclusive`: what most clusters do. First come first
 * served, one job a GPU, the next free GPU, of several the fastest for the
 * job, at the default clock.
 */
#include "policy/frame.h"
#include "policy/policies.h"

static double run_time(const struct hes_problem *p, size_t job, uint32_t type)
{
	return p->cost[type * p->n + job].time_us;
}

static int decide(const struct hes_problem *p, struct hes_plan *plan, struct hes_front *front)
{
	int rc = 0;

	(void)front;
	for (size_t i = 0; i < p->n && !rc; i++)
		rc = hes_run_alone(p, plan, hes_next_free_gpu(p, plan, i, run_time), i);
	return rc;
}

static int plan_exclusive(const struct hes_request *r, struct hes_plan *out, struct hes_front *front,
			  struct hes_err *err)
{
	return hes_policy_run(&hes_policy_exclusive, decide, r, out, front, err);
}

const struct hes_policy hes_policy_exclusive = {
	.name = "exclusive",
	.summary = "the next free GPU for each job in turn, one job at a time, default clock",
	.max_work = 2000000000,
	.plan = plan_exclusive,
};
