/*
 * joint.c - the policy `joint`: GPU, co-runners, SM share and clock of every job searched together
 * (plan/joint/joint_search.h), without a barrier between jobs.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/joint/joint_search.h"
#include "policy/decide.h"

/* In the order of hes_preferences[]. */
static enum hes_joint_wanted wanted(const char *prefer)
{
	enum hes_joint_wanted w = HES_JOINT_BALANCED;

	while (w < HES_JOINT_FLEET && strcmp(hes_preferences[w], prefer) != 0)
		w++;
	return w;
}

static int compose(const struct hes_problem *p, const struct hes_joint *j, size_t member,
		   struct hes_plan *plan)
{
	const struct hes_joint_solution s = hes_joint_member(j, member);
	int rc = 0;

	for (size_t g = 0; g < p->k && !rc; g++)
		rc = hes_compose_open(p, plan, g, &s.items[s.first[g]],
				      s.first[g + 1] - s.first[g]);
	return rc;
}

/* Deadlines that no plan can meet are not constraints: the plan names them. */
static int list_infeasible(const struct hes_problem *p, struct hes_plan *plan)
{
	plan->infeasible = calloc(p->n + 1, sizeof(*plan->infeasible));
	if (!plan->infeasible)
		return -ENOMEM;
	for (size_t i = 0; i < p->n; i++)
		if (p->jobs[i].least_us > 0)
			plan->infeasible[plan->n_infeasible++] =
				(struct hes_infeasible){ p->jobs[i].job,
							 (int64_t)p->jobs[i].least_us };
	return 0;
}

int hes_decide_joint(const struct hes_problem *p, struct hes_plan *plan, struct hes_front *front)
{
	const struct hes_request *r = p->request;
	const struct hes_joint_options o = {
		.seed = r->seed,
		.wanted = wanted(r->prefer),
		.evaluations = r->budget,
		.spent = r->spent,
		.spent_ctx = r->spent_ctx,
		.power_cap_mw = (double)r->power_cap_mw,
		.progress = r->progress,
		.progress_ctx = r->progress_ctx,
	};
	struct hes_joint *j;
	size_t chosen;
	int rc;

	for (size_t i = 0; i < p->n_jobs; i++)
		hes_problem_limit_overlap(p, i);
	rc = hes_joint_search(p, &o, &j);
	if (rc)
		return rc;
	chosen = hes_joint_wanted(j);
	plan->evaluations = hes_joint_evaluated(j);
	rc = compose(p, j, chosen, plan);
	if (!rc)
		rc = list_infeasible(p, plan);
	plan->power_cap_mw = r->power_cap_mw;
	if (r->power_cap_mw)
		plan->peak_mw = (uint64_t)ceil(hes_joint_peak_mw(j, chosen));
	if (!rc && front)
		rc = hes_front_report(p, hes_joint_front(j), front);
	hes_joint_free(j);
	return rc;
}
