/*
 * run_planner.c - plan the jobs of a run; see run_planner.h. app/plan_request.c does the planning.
 */
#include "app/run_planner.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/catalogue.h"
#include "app/jobs_load.h"
#include "app/plan_request.h"
#include "base/plural.h"
#include "base/texts.h"
#include "app/policy_program.h"
#include "app/known_folder.h"

int run_planner_check(struct run_planner *p, struct hes_err *err)
{
	const char *policy = p->o->policy ? p->o->policy : "joint";

	if (policy_program_is(policy))
		return hes_fail(err, -EINVAL,
				"--policy: a program plans once; heshare plan --policy %.40s -o "
				"plan.json, then heshare run plan.json",
				policy);
	p->policy = hes_policy_parse(policy, &p->prefer, err);
	if (!p->policy)
		return hes_fail_in(err, "--policy"), -EINVAL;
	if (p->o->prefer) {
		p->prefer = hes_policy_preference(p->policy, p->o->prefer, err);
		if (!p->prefer)
			return hes_fail_in(err, "--prefer"), -EINVAL;
	}
	if (p->o->power_cap_w > 0 && !hes_policy_searches(p->policy))
		return hes_fail(err, -EINVAL,
				"--power-cap: policy %s keeps no power cap; joint does",
				p->policy->name);
	p->power_cap_mw = (uint64_t)(p->o->power_cap_w * 1e3);
	p->seed = 1;
	return p->o->gpus ? gpus_check(p->o->gpus, err) : 0;
}

int run_planner_gpus(struct run_planner *p, struct hes_fleet *fleet, struct hes_err *err)
{
	int rc = gpus_fleet_load(p->o->app, p->o->gpus, p->catalogue, true, &p->gpus, err);

	if (!rc)
		rc = app_cap_check(p->o->power_cap_w, &p->gpus.fleet, err);
	if (!rc) {
		*fleet = p->gpus.fleet;
		p->fleet = fleet;
		p->owns_fleet = true;
	}
	return rc;
}

/* --- what is known --- */

static int load_known(struct run_planner *p, const struct hes_jobs *jobs, bool again,
		      struct hes_known *out, struct hes_err *err)
{
	const struct app_known_from from = { .app = p->o->app,
					     .store = p->o->store,
					     .predictor = p->o->predictor,
					     .profiles = p->o->profiles,
					     .jobs = jobs,
					     .profiles_only = again,
					     .again = again };

	return app_known_load(&from, p->catalogue, p->fleet, out, err);
}

/* The runner reads GPU types without a lock, so they are made before it begins. It does not read
 * @measured while it is planned again. */
static int load_all(struct run_planner *p, struct hes_jobs *jobs, struct hes_err *err)
{
	int rc = load_known(p, jobs, false, &p->known, err);

	if (rc)
		return rc;
	app_known_fit(&p->known, p->o->predictor != NULL, p->gpus.types, p->gpus.n_types);
	hes_known_hold(&p->known, p->fleet->limited, p->fleet->n_limited);
	hes_jobs_take_measured(jobs, &p->known.measured);
	p->measured = p->known.measured;
	p->known.measured = (struct hes_profiles){ 0 };
	return 0;
}

/* Measured meanwhile. */
static int refresh_known(struct run_planner *p, const struct hes_jobs *jobs, struct hes_err *err)
{
	struct hes_known now;
	int rc = load_known(p, jobs, true, &now, err);

	if (rc)
		return rc;
	now.predictor = p->known.predictor;
	now.learnt = p->known.learnt;
	p->known.predictor = NULL;
	hes_known_free(&p->known);
	hes_profiles_free(&p->measured);
	p->measured = now.measured;
	now.measured = (struct hes_profiles){ 0 };
	p->known = now;
	return 0;
}

static struct hes_request request_of(const struct run_planner *p, const struct hes_jobs *jobs)
{
	return (struct hes_request){
		.fleet = p->fleet,
		.jobs = jobs,
		.predictor = p->known.predictor,
		.profiles = &p->known.profiles,
		.prefer = p->prefer,
		.seed = p->seed,
		.power_cap_mw = p->power_cap_mw,
	};
}

/* --- the first plan --- */

static void tell_known(const struct run_planner *p, const struct hes_jobs *jobs,
		       const struct hes_plan *plan)
{
	const uint32_t unknown = plan->known[HES_KNOWN_UNKNOWN];
	char text[200] = "";

	for (size_t i = 0; i < HES_KNOWN_SOURCES; i++)
		if (plan->known[i])
			hes_text_add(text, sizeof(text), ", ", "%" PRIu32 " %s", plan->known[i],
				     hes_known_sources[i]);
	app_say(p->o->app, "%zu job%s on %zu GPU%s%s%s%s", jobs->n, hes_s(jobs->n), p->fleet->n,
		hes_s(p->fleet->n), *text ? ": " : "", text,
		!unknown       ? ""
		: unknown == 1 ? "; it runs alone and is measured"
			       : "; they run alone and are measured");
}

int run_planner_first(struct run_planner *p, struct hes_jobs *jobs, struct hes_plan *out,
		      struct hes_err *err)
{
	struct hes_request r;
	int rc = load_all(p, jobs, err);

	if (!rc)
		rc = app_check_memory(p->fleet, jobs, err);
	if (rc)
		return rc;
	r = request_of(p, jobs);
	r.progress = p->o->progress;
	r.progress_ctx = (void *)(uintptr_t)p->policy;
	rc = app_plan_all(p->policy, &r, &p->known, out, NULL, err);
	if (!rc) {
		tell_known(p, jobs, out);
		app_jobs_warn_memory(p->o->app, jobs);
	}
	return rc;
}

/* --- again --- */

/* The GPUs of a plan's file as this user can use them now. */
int run_planner_resume(struct run_planner *p, const struct hes_plan *plan, struct hes_fleet *fleet,
		       struct hes_jobs *jobs, struct hes_err *err)
{
	int rc = gpus_fleet_load(p->o->app, NULL, p->catalogue, false, &p->gpus, err);

	for (size_t g = 0; g < fleet->n && !rc; g++)
		for (size_t i = 0; i < p->gpus.fleet.n; i++)
			if (strcmp(fleet->gpus[g].uuid, p->gpus.fleet.gpus[i].uuid) == 0)
				fleet->gpus[g].type = p->gpus.fleet.gpus[i].type;
	p->fleet = fleet;
	p->policy = rc ? NULL : hes_policy_find(plan->policy, err);
	p->prefer = plan->prefer;
	p->seed = plan->seed;
	p->power_cap_mw = plan->power_cap_mw;
	if (rc || !p->policy)
		return rc ? rc : -ENOENT;
	return load_all(p, jobs, err);
}

static size_t count_known(const struct run_planner *p, const struct hes_run_now *now)
{
	size_t n = 0;

	for (size_t i = 0; i < now->n_waiting; i++)
		n += app_is_known(&p->known.profiles, p->fleet, &now->jobs->v[now->waiting[i]]);
	return n;
}

int run_planner_again(void *ctx, const struct hes_run_now *now, struct hes_plan *out,
		      struct hes_err *err)
{
	struct run_planner *p = ctx;
	struct hes_request r;
	size_t n_known;
	int rc = 0;

	if (count_known(p, now) < now->n_waiting)
		rc = refresh_known(p, now->jobs, err);
	if (rc)
		return rc;
	n_known = count_known(p, now);
	r = request_of(p, now->jobs);
	r.waiting = now->waiting;
	r.n_waiting = now->n_waiting;
	r.running = now->running;
	r.n_running = now->n_running;
	r.now_us = now->now_us;
	r.budget = app_replan_budget(p->policy, n_known, p->fleet->n);
	if (!r.budget)
		return hes_fail(err, -E2BIG, "planning %zu jobs again would take too long",
				n_known);
	return app_plan_around(p->policy, &r, &p->known, now->usable, out, err);
}

const struct hes_profiles *run_planner_profiles(struct run_planner *p, const struct hes_jobs *jobs)
{
	struct hes_err err;

	refresh_known(p, jobs, &err); /* else what was known before */
	return &p->known.profiles;
}

void run_planner_close(struct run_planner *p)
{
	hes_known_free(&p->known);
	hes_profiles_free(&p->measured);
	if (p->gpus.types)
		gpus_fleet_free(&p->gpus);
}
