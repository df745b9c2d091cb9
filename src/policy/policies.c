/*
 * policies.c - the table of policies, and what all have in common: from a request to a finished
 * plan around the one decision in which they differ; see policy.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "base/texts.h"
#include "plan/joint/joint_search.h"
#include "plan/batch/sharing.h"
#include "policy/decide.h"

#define WORK_A_JOB 100 /* in addition to that of each GPU */

const char *const hes_preferences[] = { "balanced", "energy", "jct", "fleet", NULL };

/* policy/decide.h; exclusive chooses the GPU with the least queued work as it is. */
static const char *const variants_of_random[] = { "eft", "least", "edp-sjf", NULL };
static const char *const variants_of_exclusive[] = { "eft", "edp-sjf", NULL };
static const char *const variants_of_pwr[] = { "shared", NULL };

const struct hes_policy hes_policies[] = {
	{ .name = "heshare",
	  .decide = hes_decide_heshare,
	  .prefers = hes_preferences,
	  .makes_front = true,
	  .effort = hes_effort_heshare,
	  .summary = "assignment, batches, SM shares and clocks for energy and completion time "
		     "together" },
	{ .name = "heshare-tuned",
	  .decide = hes_decide_heshare_tuned,
	  .prefers = hes_preferences,
	  .makes_front = true,
	  .effort = hes_effort_heshare_tuned,
	  .summary = "heshare improved: a price of completion time runs through both stages, "
		     "shares may overlap" },
	{ .name = "joint",
	  .decide = hes_decide_joint,
	  .prefers = hes_preferences,
	  .makes_front = true,
	  .searches = true,
	  .effort = hes_joint_effort,
	  .summary = "GPU, co-runners, SM share and clock searched together, no barrier between "
		     "batches" },
	{ .name = "sched-only",
	  .decide = hes_decide_sched_only,
	  .makes_front = true,
	  .max_work = 20000000,
	  .summary = "HeShare's assignment alone: no sharing, default clock" },
	{ .name = "morak",
	  .decide = hes_decide_morak,
	  .variants = variants_of_random,
	  .looks_ahead = HES_SHARE_MOST,
	  .variant_looks_ahead = HES_SHARE_MOST,
	  .alone = hes_alone_tuned,
	  .max_work = 200000000,
	  .summary = "a random GPU, first come first served, SM shares and clock tuned together" },
	{ .name = "muserve",
	  .decide = hes_decide_muserve,
	  .variants = variants_of_random,
	  .looks_ahead = 1,
	  .variant_looks_ahead = 1,
	  .alone = hes_alone_at_low_energy,
	  .max_work = 2000000000,
	  .summary = "a random GPU, one job at a time, the clock with least energy within a "
		     "slowdown bound" },
	{ .name = "batchdvfs",
	  .decide = hes_decide_batchdvfs,
	  .variants = variants_of_random,
	  .looks_ahead = 1,
	  .variant_looks_ahead = 1,
	  .alone = hes_alone_capped,
	  .max_work = 2000000000,
	  .summary = "a random GPU, one job at a time, the highest clock under a power cap" },
	{ .name = "pwr",
	  .decide = hes_decide_pwr,
	  .variants = variants_of_pwr,
	  .looks_ahead = 1,
	  .max_work = 2000000000,
	  .summary =
		  "the free GPU whose power a job raises least, one job at a time, default clock" },
	{ .name = "mps-equal",
	  .decide = hes_decide_mps_equal,
	  .variants = variants_of_random,
	  .variant_looks_ahead = 2,
	  .alone = hes_alone_at_default,
	  .max_work = 2000000000,
	  .summary = "the next free GPU for jobs in turn, two at a time with half the SMs each, "
		     "default clock" },
	{ .name = "mps-default",
	  .decide = hes_decide_mps_default,
	  .variants = variants_of_random,
	  .variant_looks_ahead = 2,
	  .alone = hes_alone_at_default,
	  .max_work = 2000000000,
	  .summary = "the same without shares: each of the two may use all SMs" },
	{ .name = "static",
	  .decide = hes_decide_static,
	  .static_clock = true,
	  .variants = variants_of_exclusive,
	  .looks_ahead = 1,
	  .variant_looks_ahead = 1,
	  .alone = hes_alone_static,
	  .max_work = 2000000000,
	  .summary = "the next free GPU for each job in turn, one job at a time, one clock for "
		     "each GPU type" },
	{ .name = "static-equal",
	  .decide = hes_decide_static_equal,
	  .static_clock = true,
	  .variants = variants_of_random,
	  .variant_looks_ahead = 2,
	  .alone = hes_alone_static,
	  .max_work = 2000000000,
	  .summary = "the next free GPU for jobs in turn, two at a time with half the SMs each, "
		     "one clock for each GPU type" },
	{ .name = "cap",
	  .decide = hes_decide_exclusive,
	  .variants = variants_of_exclusive,
	  .looks_ahead = 1,
	  .variant_looks_ahead = 1,
	  .alone = hes_alone_at_default,
	  .limits_power = true,
	  .max_work = 2000000000,
	  .summary = "exclusive under one power limit for each GPU type; plan and run take the "
		     "limits that are set" },
	{ .name = "exclusive",
	  .decide = hes_decide_exclusive,
	  .variants = variants_of_exclusive,
	  .looks_ahead = 1,
	  .variant_looks_ahead = 1,
	  .alone = hes_alone_at_default,
	  .max_work = 2000000000,
	  .summary = "the next free GPU for each job in turn, one job at a time, default clock" },
	{ .name = "random",
	  .decide = hes_decide_random,
	  .looks_ahead = 1,
	  .max_work = 2000000000,
	  .summary = "a random GPU for each job, one job at a time, default clock" },
	{ .name = NULL }
};

void hes_policy_fail(const struct hes_problem *p, int rc, struct hes_err *err)
{
	size_t longest = 0;

	if (rc != -ERANGE) {
		hes_fail(err, rc, "out of memory for %zu jobs on %zu GPUs", p->n, p->k);
		return;
	}
	for (size_t i = 1; i < p->n; i++)
		if (p->jobs[i].iterations > p->jobs[longest].iterations)
			longest = i;
	hes_fail(
		err, rc,
		"a GPU would be busy for more than 300 years; job %s has the most iterations, %.0f",
		p->request->jobs->v[p->jobs[longest].job].id, p->jobs[longest].iterations);
}

/* Planners choose among the clocks of a type; its default is the one that is not locked. */
static void mark_unlocked(const struct hes_fleet *f, struct hes_plan *plan)
{
	for (size_t g = 0; g < plan->n_gpus; g++)
		for (size_t b = 0; b < plan->queues[g].n; b++) {
			struct hes_batch *batch = &plan->queues[g].batches[b];

			batch->unlocked =
				hes_gpu_type_is_unlocked(f->gpus[g].type, batch->clock_mhz);
		}
}

int hes_policy_plan(const struct hes_policy *policy, const struct hes_request *r,
		    struct hes_plan *out, struct hes_front *front, struct hes_err *err)
{
	struct hes_request request = *r;
	struct hes_problem p;
	struct hes_plan plan = { 0 };
	struct hes_front found = { 0 };
	int rc = hes_policy_check_work(policy, r->n_waiting, r->fleet->n, err);

	if (rc)
		return rc;
	if ((!policy->prefers && !policy->variants) || !r->prefer || !*r->prefer)
		request.prefer = policy->prefers ? policy->prefers[0] : "";
	else if (!hes_policy_preference(policy, r->prefer, err))
		return -EINVAL;
	rc = hes_problem_init(&p, &request, err);
	if (rc)
		return rc;
	rc = hes_plan_init(&plan, p.k);
	if (rc)
		hes_policy_fail(&p, rc, err);
	else if (p.n && policy->external)
		rc = hes_decide_external(policy, &p, &plan, err);
	else if (p.n && (rc = policy->decide(&p, &plan, front ? &found : NULL)))
		hes_policy_fail(&p, rc, err);
	if (rc) {
		hes_plan_finish(&plan);
	} else {
		mark_unlocked(r->fleet, &plan);
		hes_compose_totals(&p, &plan);
		strcpy(plan.policy, policy->name);
		strcpy(plan.prefer, request.prefer);
		plan.seed = r->seed;
		*out = plan;
		if (front)
			*front = found;
	}
	hes_problem_finish(&p);
	return rc;
}

double hes_policy_effort(const struct hes_policy *p, size_t n_jobs, size_t n_gpus)
{
	if (p->effort)
		return p->effort(n_jobs, n_gpus);
	return (double)n_jobs * (double)(n_gpus + WORK_A_JOB) / (double)p->max_work;
}

size_t hes_policy_most_jobs(const struct hes_policy *p, size_t n_gpus)
{
	size_t lo = 0, hi = HES_MAX_JOBS;

	while (lo < hi) {
		const size_t mid = hi - (hi - lo) / 2;

		if (hes_policy_effort(p, mid, n_gpus) <= 1)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

int hes_policy_check_work(const struct hes_policy *p, size_t n_jobs, size_t n_gpus,
			  struct hes_err *err)
{
	char others[200] = "";

	if (n_jobs <= hes_policy_most_jobs(p, n_gpus))
		return 0;
	for (size_t i = 0; hes_policies[i].name; i++)
		if (n_jobs <= hes_policy_most_jobs(&hes_policies[i], n_gpus))
			hes_text_add(others, sizeof(others), ", ", "%s", hes_policies[i].name);
	return hes_fail(err, -E2BIG,
			"policy %s plans at most %zu jobs at once on %zu GPU%s, not %zu; split the "
			"jobs%s%s",
			p->name, hes_policy_most_jobs(p, n_gpus), n_gpus, hes_s(n_gpus), n_jobs,
			*others ? ", or take one that plans as many: " : "", others);
}

bool hes_policy_searches(const struct hes_policy *p)
{
	return p->searches;
}

void hes_policy_names(hes_policy_is *is, char *out, size_t size)
{
	*out = '\0';
	for (size_t i = 0; hes_policies[i].name; i++)
		if (!is || is(&hes_policies[i]))
			hes_text_add(out, size, ", ", "%s", hes_policies[i].name);
}

const struct hes_policy *hes_policy_find(const char *name, struct hes_err *err)
{
	char have[200];

	for (size_t i = 0; hes_policies[i].name; i++)
		if (strcmp(hes_policies[i].name, name) == 0)
			return &hes_policies[i];
	hes_policy_names(NULL, have, sizeof(have));
	hes_fail(err, -ENOENT, "unknown policy \"%.40s\"; known: %s", name, have);
	return NULL;
}

const char *hes_policy_preference(const struct hes_policy *p, const char *name, struct hes_err *err)
{
	const char *const *known = p->prefers ? p->prefers : p->variants;
	char have[100] = "";

	for (size_t i = 0; known && known[i]; i++) {
		if (strcmp(known[i], name) == 0)
			return known[i];
		hes_text_add(have, sizeof(have), ", ", "%s", known[i]);
	}
	if (*have)
		hes_fail(err, -EINVAL, "policy %s: %s \"%.40s\" is not one of %s", p->name,
			 p->prefers ? "preference" : "variant", name, have);
	else
		hes_fail(err, -EINVAL, "policy %s has no preference, so not \"%.40s\"", p->name,
			 name);
	return NULL;
}

const struct hes_policy *hes_policy_parse(const char *text, const char **prefer,
					  struct hes_err *err)
{
	const char *colon = strchr(text, ':'), *own = NULL;
	char name[2 * HES_NAME_MAX];
	const struct hes_policy *p;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, ":"), text);
	p = hes_policy_find(name, err);
	if (p && colon)
		own = hes_policy_preference(p, colon + 1, err);
	if (!p || (colon && !own))
		return NULL;
	*prefer = own;
	return p;
}
