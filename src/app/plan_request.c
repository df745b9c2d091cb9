/*
 * plan_request.c - plan jobs by a policy, around jobs that nobody knows; see plan_request.h.
 *
 * The policy sees only usable GPUs, known jobs, and the time at which unknown jobs leave a GPU.
 */
#include "app/plan_request.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SHARE_SUM 100
#define REPLAN_EFFORT 0.02 /* of the limit of a policy, which is some minutes */
#define REPLAN_EACH   100  /* evaluations for each waiting job */
#define REPLAN_LEAST  1000
#define NOT_USED      UINT32_MAX

bool app_is_known(const struct hes_profiles *p, const struct hes_fleet *f,
		  const struct hes_job *job)
{
	const struct hes_gpu_type *last = NULL;
	struct hes_profile found;

	for (size_t g = 0; g < f->n; g++) {
		if (f->gpus[g].type != last &&
		    !hes_profile_find(p, job->workload, job->batch_size, f->gpus[g].type->name,
				      &found, NULL))
			return true;
		last = f->gpus[g].type;
	}
	return false;
}

/* The usable part of a request, and what is decided before the policy. */
struct around {
	const struct hes_request *r;
	const struct app_known *all; /* may be NULL */
	struct hes_request known;    /* for the policy */
	struct hes_fleet fleet;      /* usable GPUs */
	size_t *at;                  /* [fleet] index in the whole fleet */
	uint32_t *usable;            /* [whole fleet] index among the usable; NOT_USED */
	uint32_t *waiting;           /* known jobs */
	int64_t *free_at_us;         /* [fleet] */
	struct hes_running *running;
	bool *held;           /* [fleet] an unknown job runs or waits there */
	struct hes_plan plan; /* of the usable GPUs: unknown jobs */
};

static void around_free(struct around *a)
{
	free(a->fleet.gpus);
	free(a->at);
	free(a->usable);
	free(a->waiting);
	free(a->free_at_us);
	free(a->running);
	free(a->held);
	hes_plan_finish(&a->plan);
}

static int around_make(struct around *a, const struct hes_request *r, const bool *usable,
		       struct hes_err *err)
{
	const size_t k = r->fleet->n + 1;

	*a = (struct around){
		.r = r,
		.known = *r,
		.fleet = *r->fleet,
		.at = calloc(k, sizeof(*a->at)),
		.usable = calloc(k, sizeof(*a->usable)),
		.waiting = calloc(r->n_waiting + 1, sizeof(*a->waiting)),
		.free_at_us = calloc(k, sizeof(*a->free_at_us)),
		.running = calloc(r->n_running + 1, sizeof(*a->running)),
		.held = calloc(k, sizeof(*a->held)),
	};
	a->fleet.n = 0;
	a->fleet.gpus = calloc(k, sizeof(*a->fleet.gpus));
	if (!a->at || !a->usable || !a->waiting || !a->free_at_us || !a->running || !a->held ||
	    !a->fleet.gpus || hes_plan_init(&a->plan, r->fleet->n))
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", r->n_waiting);
	for (size_t g = 0; g < r->fleet->n; g++) {
		a->usable[g] = NOT_USED;
		if (usable && !usable[g])
			continue;
		a->usable[g] = (uint32_t)a->fleet.n;
		a->at[a->fleet.n] = g;
		a->free_at_us[a->fleet.n] = r->free_at_us && r->free_at_us[g] > r->now_us
						    ? r->free_at_us[g]
						    : r->now_us;
		a->fleet.gpus[a->fleet.n++] = r->fleet->gpus[g];
	}
	return a->fleet.n ? 0 : hes_fail(err, -ENODEV, "no GPU is left to plan for");
}

static bool is_known(const struct around *a, uint32_t job)
{
	return app_is_known(a->r->profiles, &a->fleet, &a->r->jobs->v[job]);
}

/* A job that runs longer than was guessed is taken to be half done. */
static int64_t ends_at(const struct around *a, const struct hes_running *run)
{
	const int64_t now_us = a->r->now_us;

	return run->end_us > now_us + 1 ? run->end_us : now_us + (now_us - run->start_us);
}

static void hold_gpus(struct around *a)
{
	for (size_t i = 0; i < a->r->n_running; i++) {
		const struct hes_running *run = &a->r->running[i];
		const uint32_t g = a->usable[run->gpu];
		const int64_t end_us = ends_at(a, run);

		if (g == NOT_USED)
			continue;
		a->held[g] |= !is_known(a, run->job);
		a->free_at_us[g] = end_us > a->free_at_us[g] ? end_us : a->free_at_us[g];
	}
}

static bool fits(const struct around *a, size_t g, uint32_t job)
{
	const struct hes_gpu_type *type = a->fleet.gpus[g].type;

	return hes_memory_on(type, hes_job_memory_mib(&a->r->jobs->v[job])) <= type->memory_mib;
}

/* How long a job may run of which nothing is known, or only its script with other arguments. */
static int64_t guess_us(const struct around *a, size_t g, uint32_t job)
{
	const double s =
		a->all ? app_known_run_s(a->all, &a->r->jobs->v[job], a->fleet.gpus[g].type->name)
		       : 0;

	return s > 0 && s < HES_PLAN_LONGEST_US * 1e-6 ? llround(s * 1e6) : APP_GUESS_US;
}

/* @return NOT_USED: it fits none */
static uint32_t first_free(const struct around *a, uint32_t job)
{
	uint32_t best = NOT_USED;

	for (uint32_t g = 0; g < a->fleet.n; g++)
		if (fits(a, g, job) &&
		    (best == NOT_USED || a->free_at_us[g] + guess_us(a, g, job) <
						 a->free_at_us[best] + guess_us(a, best, job)))
			best = g;
	return best;
}

static int place_unknown(struct around *a, uint32_t job)
{
	const uint32_t g = first_free(a, job);
	struct hes_batch b = { .n = 1, .unlocked = true, .unknown = true };
	int rc;

	if (g == NOT_USED)
		return 0;
	b.clock_mhz = a->fleet.gpus[g].type->clock_default_mhz;
	b.start_us = a->free_at_us[g];
	b.end_us = b.start_us + guess_us(a, g, job);
	b.jobs[0] = (struct hes_placement){
		.job = job, .sm_pct = 100, .start_us = b.start_us, .end_us = b.end_us
	};
	rc = hes_plan_append(&a->plan, a->at[g], &b);
	a->plan.queues[a->at[g]].together = 1;
	a->free_at_us[g] = b.end_us;
	a->held[g] = true;
	return rc;
}

static int split_jobs(struct around *a, struct hes_err *err)
{
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < a->r->n_waiting && !rc; i++) {
		const uint32_t job = a->r->waiting[i];

		if (!is_known(a, job))
			rc = place_unknown(a, job);
		else if (first_free(a, job) != NOT_USED)
			a->waiting[n++] = job;
	}
	a->known.waiting = a->waiting;
	a->known.n_waiting = n;
	return rc ? hes_fail(err, rc, "out of memory for %zu jobs", a->r->n_waiting) : 0;
}

/* Of a GPU that is held by a job that nobody knows, only the time counts at which it is free. */
static void keep_running(struct around *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->r->n_running; i++) {
		const uint32_t g = a->usable[a->r->running[i].gpu];

		if (g == NOT_USED || a->held[g])
			continue;
		a->running[n] = a->r->running[i];
		a->running[n++].gpu = g;
	}
	a->known.fleet = &a->fleet;
	a->known.free_at_us = a->free_at_us;
	a->known.running = a->running;
	a->known.n_running = n;
}

/* Known jobs behind those that nobody knows. */
static int join_plans(struct around *a, struct hes_plan *known, struct hes_err *err)
{
	int rc = 0;

	memcpy(a->plan.policy, known->policy, sizeof(a->plan.policy));
	memcpy(a->plan.prefer, known->prefer, sizeof(a->plan.prefer));
	a->plan.seed = known->seed;
	a->plan.predicted = known->predicted;
	a->plan.unpredicted = known->unpredicted;
	a->plan.evaluations = known->evaluations;
	a->plan.infeasible = known->infeasible;
	a->plan.n_infeasible = known->n_infeasible;
	known->infeasible = NULL;
	known->n_infeasible = 0;
	a->plan.power_cap_mw = known->power_cap_mw;
	a->plan.peak_mw = known->peak_mw;
	for (size_t g = 0; g < known->n_gpus && !rc; g++) {
		const struct hes_queue *from = &known->queues[g];
		struct hes_queue *to = &a->plan.queues[a->at[g]];

		for (size_t b = 0; b < from->n && !rc; b++)
			rc = hes_plan_append(&a->plan, a->at[g], &from->batches[b]);
		if (from->n) {
			to->together = from->together;
			to->shares_pct = from->shares_pct;
		}
	}
	return rc ? hes_fail(err, rc, "out of memory for %zu jobs", a->r->n_waiting) : 0;
}

static int plan_known(struct around *a, const struct hes_policy *policy, struct hes_front *front,
		      struct hes_err *err)
{
	struct hes_plan known = { .seed = a->r->seed, .power_cap_mw = a->r->power_cap_mw };
	int rc = 0;

	snprintf(known.policy, sizeof(known.policy), "%s", policy->name);
	snprintf(known.prefer, sizeof(known.prefer), "%s",
		 a->r->prefer && *a->r->prefer ? a->r->prefer
		 : policy->prefers             ? policy->prefers[0]
					       : "");
	if (a->known.n_waiting)
		rc = hes_policy_plan(policy, &a->known, &known, front, err);
	if (!rc)
		rc = join_plans(a, &known, err);
	hes_plan_finish(&known);
	return rc;
}

int app_plan_around(const struct hes_policy *policy, const struct hes_request *r,
		    const struct app_known *known, const bool *usable, struct hes_plan *out,
		    struct hes_front *front, struct hes_err *err)
{
	struct around a;
	int rc = around_make(&a, r, usable, err);

	a.all = known;

	if (!rc) {
		hold_gpus(&a);
		rc = split_jobs(&a, err);
	}
	if (!rc) {
		keep_running(&a);
		rc = plan_known(&a, policy, front, err);
	}
	if (!rc) {
		*out = a.plan;
		a.plan = (struct hes_plan){ 0 };
	}
	around_free(&a);
	return rc;
}

int app_check_memory(const struct hes_fleet *f, const struct hes_jobs *jobs, struct hes_err *err)
{
	uint32_t most_mib = 0;

	for (size_t g = 0; g < f->n; g++)
		if (f->gpus[g].type->memory_mib > most_mib)
			most_mib = f->gpus[g].type->memory_mib;
	for (size_t i = 0; i < jobs->n; i++)
		if (hes_job_memory_mib(&jobs->v[i]) > most_mib)
			return hes_fail(err, -ENOSPC,
					"job %s needs %" PRIu32
					" MiB of memory, and no GPU here has more than %" PRIu32
					" MiB",
					jobs->v[i].id, hes_job_memory_mib(&jobs->v[i]), most_mib);
	return 0;
}

/* Whether there are jobs that nobody knows, and all of them have a command to be measured by. Where
 * one has none, the policy says what is wrong with it. */
static bool has_unknown(const struct hes_request *r)
{
	bool found = false;

	for (size_t i = 0; i < r->jobs->n; i++) {
		if (app_is_known(r->profiles, r->fleet, &r->jobs->v[i]))
			continue;
		if (!r->jobs->v[i].command)
			return false;
		found = true;
	}
	return found;
}

static int plan_all(const struct hes_policy *policy, const struct hes_request *r,
		    const struct app_known *known, struct hes_plan *out, struct hes_front *front,
		    struct hes_err *err)
{
	int rc;

	if (!has_unknown(r))
		return hes_policy_plan(policy, r, out, front, err);
	rc = app_check_memory(r->fleet, r->jobs, err);
	return rc ? rc : app_plan_around(policy, r, known, NULL, out, front, err);
}

int app_plan_all(const struct hes_policy *policy, const struct hes_request *r,
		 const struct app_known *known, struct hes_plan *out, struct hes_front *front,
		 struct hes_err *err)
{
	struct hes_request all = *r;
	uint32_t *waiting = calloc(r->jobs->n + 1, sizeof(*waiting));
	int64_t *free_now = calloc(r->fleet->n + 1, sizeof(*free_now));
	int rc = -ENOMEM;

	for (size_t i = 0; waiting && i < r->jobs->n; i++)
		waiting[i] = (uint32_t)i;
	all.waiting = waiting;
	all.n_waiting = r->jobs->n;
	all.free_at_us = r->free_at_us ? r->free_at_us : free_now;
	if (waiting && free_now)
		rc = plan_all(policy, &all, known, out, front, err);
	else
		hes_fail(err, rc, "out of memory for %zu jobs", r->jobs->n);
	free(waiting);
	free(free_now);
	if (rc)
		return rc;
	rc = hes_plan_validate(out, r->fleet, r->jobs, MAX_SHARE_SUM, err);
	if (rc)
		hes_plan_finish(out);
	else
		app_known_count_plan(known, r->fleet, r->jobs, out);
	return rc;
}

uint64_t app_replan_budget(const struct hes_policy *policy, size_t n_jobs, size_t n_gpus)
{
	const uint64_t budget = REPLAN_EACH * (uint64_t)n_jobs;

	if (hes_policy_effort(policy, n_jobs, n_gpus) > REPLAN_EFFORT)
		return 0;
	return budget > REPLAN_LEAST ? budget : REPLAN_LEAST;
}
