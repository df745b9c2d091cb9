/*
 * sched_only.c - the policy `sched-only`: stage 1 of HeShare alone. The knee
 * of the assignment front, each queue shortest first, one job at a time, at the
 * default clock.
 */
#include <stdlib.h>

#include "policy/frame.h"
#include "policy/policies.h"
#include "policy/stage1.h"

static int choose(const struct hes_problem *p, const struct hes_assign_front *found, struct hes_plan *plan,
		  struct hes_front *front)
{
	struct hes_pareto set = { 0 };
	int rc = 0;

	for (size_t i = 0; i < found->n && rc >= 0; i++)
		rc = hes_pareto_insert(&set, &found->v[i].at, i);
	if (rc >= 0)
		rc = hes_compose_assignment(p, &found->v[set.v[hes_pareto_knee(&set)].tag], plan);
	if (!rc && front)
		rc = hes_stage1_report(p, &set, front);
	hes_pareto_free(&set);
	return rc;
}

static int decide(const struct hes_problem *p, struct hes_plan *plan, struct hes_front *front)
{
	struct hes_assign_front found;
	int rc = hes_stage1_search(p, &found);

	if (rc)
		return rc;
	rc = choose(p, &found, plan, front);
	free(found.v);
	return rc;
}

static int plan_sched_only(const struct hes_request *r, struct hes_plan *out, struct hes_front *front,
			   struct hes_err *err)
{
	return hes_policy_run(&hes_policy_sched_only, decide, r, out, front, err);
}

const struct hes_policy hes_policy_sched_only = {
	.name = "sched-only",
	.summary = "HeShare's assignment alone: no sharing, default clock",
	.makes_front = true,
	.max_work = 20000000,
	.plan = plan_sched_only,
};
