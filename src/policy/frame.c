/*
 * frame.c - what the policies have in common; see frame.h.
 */
#include "policy/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

static const char *preference(const struct hes_policy *self, const struct hes_request *r)
{
	if (!self->prefers)
		return "";
	return r->prefer && *r->prefer ? r->prefer : self->prefers[0];
}

static void say_why(const struct hes_problem *p, int rc, struct hes_err *err)
{
	size_t longest = 0;

	if (rc != -ERANGE) {
		hes_fail(err, rc, "out of memory for %zu jobs on %zu GPUs", p->n, p->k);
		return;
	}
	for (size_t i = 1; i < p->n; i++)
		if (p->jobs[i].iterations > p->jobs[longest].iterations)
			longest = i;
	hes_fail(err, rc, "a GPU would be busy for more than 300 years; job %s has the most iterations, %.0f",
		 p->request->jobs->v[p->jobs[longest].job].id, p->jobs[longest].iterations);
}

int hes_policy_run(const struct hes_policy *self, hes_decide_fn *decide, const struct hes_request *r,
		   struct hes_plan *out, struct hes_front *front, struct hes_err *err)
{
	struct hes_request request = *r;
	struct hes_problem p;
	struct hes_plan plan = { 0 };
	struct hes_front found = { 0 };
	int rc = hes_policy_check_work(self, r->n_waiting, r->fleet->n, err);

	if (rc)
		return rc;
	if (self->prefers && !hes_policy_preference(self, preference(self, r), err))
		return -EINVAL;
	request.prefer = preference(self, r);
	rc = hes_problem_init(&p, &request, err);
	if (rc)
		return rc;
	rc = hes_plan_init(&plan, p.k);
	if (!rc && p.n)
		rc = decide(&p, &plan, front ? &found : NULL);
	if (rc) {
		say_why(&p, rc, err);
		hes_plan_finish(&plan);
	} else {
		hes_compose_totals(&p, &plan);
		strcpy(plan.policy, self->name);
		strcpy(plan.prefer, request.prefer);
		plan.seed = r->seed;
		*out = plan;
		if (front)
			*front = found;
	}
	hes_problem_finish(&p);
	return rc;
}

size_t hes_draw_gpu(const struct hes_problem *p, size_t job)
{
	struct hes_rng all, own;
	size_t n = 0, nth;

	hes_rng_seed(&all, p->request->seed);
	own = hes_rng_fork(&all, p->jobs[job].job);
	for (size_t g = 0; g < p->k; g++)
		n += hes_problem_runs(p, job, p->gpus[g].type);
	nth = (size_t)hes_rng_below(&own, n);
	for (size_t g = 0;; g++)
		if (hes_problem_runs(p, job, p->gpus[g].type) && nth-- == 0)
			return g;
}

size_t hes_next_free_gpu(const struct hes_problem *p, const struct hes_plan *plan, size_t job,
			 double (*dislike)(const struct hes_problem *p, size_t job, uint32_t type))
{
	size_t best = SIZE_MAX;
	int64_t first_us = INT64_MAX;
	double least = 0;

	for (size_t g = 0; g < p->k; g++) {
		int64_t free_us = hes_compose_free_us(p, plan, g);
		double value;

		if (!hes_problem_runs(p, job, p->gpus[g].type) || free_us > first_us)
			continue;
		value = dislike(p, job, p->gpus[g].type);
		if (free_us < first_us || value < least) {
			best = g;
			first_us = free_us;
			least = value;
		}
	}
	return best;
}

int hes_run_alone(const struct hes_problem *p, struct hes_plan *plan, size_t gpu, size_t job)
{
	const struct hes_group alone = { 1, { { (uint32_t)job, 100 } } };

	return hes_compose_batch(p, plan, gpu, p->types[p->gpus[gpu].type]->clock_default_mhz, &alone);
}
