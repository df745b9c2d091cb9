/*
 * random.c - the policy `random`: every job on a GPU drawn by lot, first come
 * first served, one at a time, at the default clock.
 */
#include "policy/frame.h"
#include "policy/policies.h"

static int decide(const struct hes_problem *p, struct hes_plan *plan, struct hes_front *front)
{
	int rc = 0;

	(void)front;
	for (size_t i = 0; i < p->n && !rc; i++)
		rc = hes_run_alone(p, plan, hes_draw_gpu(p, i), i);
	return rc;
}

static int plan_random(const struct hes_request *r, struct hes_plan *out, struct hes_front *front,
		       struct hes_err *err)
{
	return hes_policy_run(&hes_policy_random, decide, r, out, front, err);
}

const struct hes_policy hes_policy_random = {
	.name = "random",
	.summary = "a GPU by lot for each job, one job at a time, default clock",
	.max_work = 2000000000,
	.plan = plan_random,
};
