/*
 * heshare.c - the policy `heshare` (IEEE TC 2026): assignment by the genetic
 * algorithm, then Algorithm 1 on every member of its front; of what none
 * dominates, the member preferred.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/batch/configure.h"
#include "policy/frame.h"
#include "policy/policies.h"
#include "policy/stage1.h"

static const char *const prefers[] = { "balanced", "energy", "jct", NULL };

/* The paper's Trade-off, En-opt and JCT-opt. */
static size_t preferred(const struct hes_pareto *front, const char *prefer)
{
	if (strcmp(prefer, "energy") == 0)
		return 0;
	if (strcmp(prefer, "jct") == 0)
		return front->n - 1;
	return hes_pareto_knee(front);
}

static int decide(const struct hes_problem *p, struct hes_plan *plan, struct hes_front *front)
{
	struct hes_assign_front found;
	struct hes_configured *c;
	int rc = hes_stage1_search(p, &found);

	if (rc)
		return rc;
	rc = hes_configure(p, &found, &c);
	if (!rc) {
		const struct hes_pareto *set = hes_configured_front(c);

		rc = hes_configured_plan(c, preferred(set, p->request->prefer), plan);
		if (!rc && front)
			rc = hes_stage1_report(p, set, front);
		hes_configured_free(c);
	}
	free(found.v);
	return rc;
}

/* Measured: 18,518 jobs on 8 GPUs 118 s, 10,000 on 200 33 s, on 1000 39 s, on 10,000 252 s: cautious on many GPUs. */
#define MOST_WORK  28e6 /* jobs times so many more than there are GPUs: */
#define WORK_A_JOB 1500.0

static double effort(size_t n_jobs, size_t n_gpus)
{
	return (double)n_jobs * ((double)n_gpus + WORK_A_JOB) / MOST_WORK;
}

static int plan_heshare(const struct hes_request *r, struct hes_plan *out, struct hes_front *front,
			struct hes_err *err)
{
	return hes_policy_run(&hes_policy_heshare, decide, r, out, front, err);
}

const struct hes_policy hes_policy_heshare = {
	.name = "heshare",
	.summary = "assignment, batches, SM shares and clocks for energy and completion time together",
	.prefers = prefers,
	.makes_front = true,
	.effort = effort,
	.plan = plan_heshare,
};
