/*
 * planner.c - plan the jobs of a file and of a run; see planner.h. plan_request.c does the
 * planning.
 */
#include "app/planner.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/catalogue.h"
#include "app/jobs_load.h"
#include "app/plan_request.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/root_sum.h"

#define STANDARD_ERRORS 1.64 /* of an interval that nine of ten values are in */

/* --- options --- */

/* "200ms", "5s", or a number. @return 0; -EINVAL */
static int parse_budget(const char *text, double *seconds, uint64_t *evaluations,
			struct hes_err *err)
{
	const size_t n = strlen(text), unit = n > 2 && strcmp(text + n - 2, "ms") == 0
						      ? 2
						      : n > 1 && text[n - 1] == 's';
	char number[32];
	int rc = -EINVAL;

	snprintf(number, sizeof(number), "%.*s", (int)(n - unit), text);
	if (n - unit < sizeof(number))
		rc = unit ? hes_parse_double("--budget", number, unit == 2 ? 1 : 1e-3, 1e6, seconds,
					     err)
			  : hes_parse_u64("--budget", number, 1, INT64_MAX, evaluations, err);
	if (rc)
		return hes_fail(err, -EINVAL,
				"--budget: \"%.40s\" is neither a time in ms or s, from 1ms on, "
				"such as 200ms or 5s, "
				"nor a number of evaluations, from 1 on",
				text);
	if (unit == 2)
		*seconds *= 1e-3;
	return 0;
}

static int planner_find_policy(struct app_planner *p, struct hes_err *err)
{
	const char *name = p->o->policy ? p->o->policy : "joint";

	if (!policy_program_is(name)) {
		p->policy = hes_policy_parse(name, &p->prefer, err);
		return p->policy ? 0 : hes_fail_in(err, "--policy");
	}
	if (p->o->of_run)
		return hes_fail(err, -EINVAL,
				"--policy: a program plans once; heshare plan --policy %.40s -o "
				"plan.json, then heshare run plan.json",
				name);
	p->program = policy_program_new(name, p->o->exec_limit_s, err);
	p->policy = p->program ? &p->program->policy : NULL;
	return p->policy ? 0 : -ENOENT;
}

/* A preference is named with the policy or by itself. */
static int find_preference(struct app_planner *p, struct hes_err *err)
{
	const struct app_planner_options *o = p->o;

	if (!o->prefer)
		return 0;
	if (p->prefer)
		return hes_fail(
			err, -EINVAL,
			"--prefer %.40s: --policy %.40s prefers something already; name one",
			o->prefer, o->policy);
	p->prefer = hes_policy_preference(p->policy, o->prefer, err);
	return p->prefer ? 0 : hes_fail_in(err, "--prefer");
}

/* Limits are for policies that search. */
static int check_limits(struct app_planner *p, struct hes_err *err)
{
	const struct app_planner_options *o = p->o;
	char able[200];

	if ((!o->budget && !(o->power_cap_w > 0)) || hes_policy_searches(p->policy))
		return 0;
	hes_policy_names(hes_policy_searches, able, sizeof(able));
	return hes_fail(err, -EINVAL, "--%s: policy %s %s; those that do: %s",
			o->budget ? "budget" : "power-cap", p->policy->name,
			o->budget ? "does not search for a given time"
				  : "does not search under constraints",
			able);
}

int app_planner_check(struct app_planner *p, struct hes_err *err)
{
	const struct app_planner_options *o = p->o;
	int rc = planner_find_policy(p, err);

	if (!rc && o->gpus && o->fleet)
		rc = hes_fail(err, -EINVAL,
			      "--gpus: there is --fleet, too; plan for the one or the other");
	if (!rc && o->budget)
		rc = parse_budget(o->budget, &p->search_s, &p->evaluations, err);
	if (!rc)
		rc = check_limits(p, err);
	if (!rc)
		rc = find_preference(p, err);
	p->power_cap_mw = (uint64_t)(o->power_cap_w * 1e3);
	p->seed = o->seed;
	return rc || !o->of_run || !o->gpus ? rc : gpus_check(o->gpus, err);
}

int app_planner_gpus(struct app_planner *p, struct hes_err *err)
{
	const struct app_planner_options *o = p->o;
	int rc = 0;

	if (p->gpus.types)
		p->fleet = &p->gpus.fleet;
	else if (o->gpus || o->of_run)
		rc = gpus_fleet_load(o->app, o->gpus, p->catalogue, true, &p->gpus, err);
	else
		rc = app_fleet_load(o->fleet, p->catalogue, &p->file, err);
	p->fleet = p->gpus.types ? &p->gpus.fleet : &p->file;
	return rc ? rc : app_cap_check(o->power_cap_w, p->fleet, err);
}

/* --- what is known --- */

static int load_known(struct app_planner *p, const struct hes_jobs *jobs, bool again,
		      struct app_known *out, struct hes_err *err)
{
	const struct app_known_request from = { .app = p->o->app,
						.catalogue = p->catalogue,
						.fleet = p->fleet,
						.store = p->o->store,
						.predictor = p->o->predictor,
						.profiles = p->o->profiles,
						.jobs = jobs,
						.profiles_only = again,
						.again = again };

	return app_known_load(&from, out, err);
}

/* The runner reads GPU types without a lock, so they are made before it begins. It does not read
 * @measured while it is planned again. */
static int load_all(struct app_planner *p, struct hes_jobs *jobs, struct hes_err *err)
{
	int rc = load_known(p, jobs, false, &p->known, err);

	if (rc)
		return rc;
	app_known_fit(&p->known, false, p->catalogue->types, p->catalogue->n);
	app_known_fit(&p->known, p->o->predictor != NULL, p->gpus.types, p->gpus.n_types);
	app_known_fit(&p->known, false, p->fleet->limited, p->fleet->n_limited);
	hes_jobs_take_measured(jobs, &p->known.measured);
	p->measured = p->known.measured;
	p->known.measured = (struct hes_profiles){ 0 };
	return 0;
}

/* Measured meanwhile. */
static int refresh_known(struct app_planner *p, const struct hes_jobs *jobs, struct hes_err *err)
{
	struct app_known now;
	int rc = load_known(p, jobs, true, &now, err);

	if (rc)
		return rc;
	now.predictor = p->known.predictor;
	now.learnt = p->known.learnt;
	p->known.predictor = NULL;
	app_known_free(&p->known);
	hes_profiles_free(&p->measured);
	p->measured = now.measured;
	now.measured = (struct hes_profiles){ 0 };
	p->known = now;
	return 0;
}

/* --- the first plan --- */

static struct hes_request request_of(const struct app_planner *p, const struct hes_jobs *jobs)
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

/* The jobs that run next to one, in the middle of its time. */
static struct hes_load co_runners_of(const struct app_planner *p, const struct hes_jobs *jobs,
				     const struct hes_gpu_type *g, const struct hes_queue *q,
				     const struct hes_placement *of)
{
	const int64_t at_us = of->start_us + (of->end_us - of->start_us) / 2;
	struct hes_load others = { .power_mw = g->idle_power_mw };
	struct hes_profile solo;

	for (size_t b = 0; b < q->n; b++)
		for (uint32_t k = 0; k < q->batches[b].n; k++) {
			const struct hes_placement *x = &q->batches[b].jobs[k];
			const struct hes_job *job = &jobs->v[x->job];
			const struct hes_setting s = { x->sm_pct, q->batches[b].clock_mhz };

			if (x != of && x->start_us <= at_us && x->end_us > at_us &&
			    !hes_profile_find(&p->known.profiles, job->workload, job->batch_size,
					      g->name, &solo, NULL))
				hes_predict_load_add(p->known.predictor, g, &solo, &s, &others);
		}
	return others;
}

/* What a share alone makes of a job. */
static void placement_share(const struct app_planner *p, const struct hes_gpu_type *g,
			    const struct hes_profile *solo, uint32_t clock_mhz,
			    struct hes_placement *of)
{
	const struct hes_load none = { .power_mw = g->idle_power_mw };
	struct hes_estimate all, part;

	hes_predict(p->known.predictor, g, solo, &(struct hes_setting){ 100, clock_mhz }, &none,
		    &all);
	hes_predict(p->known.predictor, g, solo, &(struct hes_setting){ of->sm_pct, clock_mhz },
		    &none, &part);
	of->share_time = part.iteration_us / all.iteration_us;
	of->share_power = (double)part.power_mw / all.power_mw;
}

/* How far the time of a job may be off: the predictor's interval, and what is known of its time
 * alone. */
static void placement_expect(const struct app_planner *p, const struct hes_jobs *jobs,
			     const struct hes_gpu_type *g, const struct hes_queue *q,
			     const struct hes_batch *b, struct hes_placement *of)
{
	const struct hes_job *job = &jobs->v[of->job];
	const struct hes_setting s = { of->sm_pct, b->clock_mhz };
	struct hes_load others;
	struct hes_profile solo;
	struct hes_estimate e;

	if (b->unknown || !p->known.predictor ||
	    hes_profile_find(&p->known.profiles, job->workload, job->batch_size, g->name, &solo,
			     NULL))
		return;
	others = co_runners_of(p, jobs, g, q, of);
	hes_predict(p->known.predictor, g, &solo, &s, &others, &e);
	of->time_error = hes_root_sum(
		fmax(e.iteration_high_us / e.iteration_us - 1,
		     1 - e.iteration_low_us / e.iteration_us),
		STANDARD_ERRORS * app_known_of(&p->known, job->workload, job->batch_size, g->name)
					  .time_error);
	placement_share(p, g, &solo, b->clock_mhz, of);
}

static void plan_expectations(const struct app_planner *p, const struct hes_jobs *jobs,
			      struct hes_plan *plan)
{
	for (size_t g = 0; g < plan->n_gpus; g++)
		for (size_t b = 0; b < plan->queues[g].n; b++) {
			struct hes_batch *batch = &plan->queues[g].batches[b];

			for (uint32_t i = 0; i < batch->n; i++)
				placement_expect(p, jobs, p->fleet->gpus[g].type, &plan->queues[g],
						 batch, &batch->jobs[i]);
		}
}

/* The part of the time for a search that is over: the library has no clock. */
static double spent(void *planner)
{
	const struct app_planner *p = planner;

	return (hes_monotonic_s() - p->from_s) / p->search_s;
}

int app_plan(struct app_planner *p, struct hes_jobs *jobs, struct hes_plan *out,
	     struct hes_front *front, struct hes_err *err)
{
	struct hes_request r;
	int rc = load_all(p, jobs, err);

	if (rc)
		return rc;
	r = request_of(p, jobs);
	r.progress = p->o->progress;
	r.progress_ctx = (void *)(uintptr_t)p->policy;
	r.budget = p->evaluations;
	r.spent = p->search_s > 0 ? spent : NULL;
	r.spent_ctx = p;
	p->from_s = hes_monotonic_s();
	rc = app_plan_all(p->policy, &r, &p->known, out, front, err);
	p->planned_s = hes_monotonic_s() - p->from_s;
	if (!rc && p->o->of_run)
		plan_expectations(p, jobs, out);
	if (!rc)
		app_jobs_warn_memory(p->o->app, jobs);
	return rc;
}

/* --- again --- */

/* The GPUs of a plan's file as this user can use them now. */
static int look_at_gpus(struct app_planner *p, struct hes_fleet *fleet, struct hes_err *err)
{
	int rc = gpus_fleet_load(p->o->app, NULL, p->catalogue, false, &p->gpus, err);

	for (size_t g = 0; g < fleet->n && !rc; g++)
		for (size_t i = 0; i < p->gpus.fleet.n; i++)
			if (strcmp(fleet->gpus[g].uuid, p->gpus.fleet.gpus[i].uuid) == 0)
				fleet->gpus[g].type = p->gpus.fleet.gpus[i].type;
	p->fleet = fleet;
	return rc;
}

int app_planner_resume(struct app_planner *p, const struct hes_plan *plan, struct hes_fleet *fleet,
		       struct hes_jobs *jobs, struct hes_err *err)
{
	int rc = look_at_gpus(p, fleet, err);

	p->policy = rc ? NULL : hes_policy_find(plan->policy, err);
	p->prefer = plan->prefer;
	p->seed = plan->seed;
	p->power_cap_mw = plan->power_cap_mw;
	if (rc || !p->policy)
		return rc ? rc : -ENOENT;
	return load_all(p, jobs, err);
}

static size_t count_known(const struct app_planner *p, const struct hes_run_now *now)
{
	size_t n = 0;

	for (size_t i = 0; i < now->n_waiting; i++)
		n += app_is_known(&p->known.profiles, p->fleet, &now->jobs->v[now->waiting[i]]);
	return n;
}

/* --- again, in a run of a plan --- */

void app_planner_keep(struct app_planner *p, const struct hes_plan *plan, struct hes_fleet *fleet,
		      const char *catalogue)
{
	p->plan = plan;
	p->fleet = fleet;
	p->types_file = catalogue;
	p->policy = policy_program_is(plan->policy) ? NULL : hes_policy_find(plan->policy, NULL);
	p->prefer = plan->prefer;
	p->seed = plan->seed;
	p->power_cap_mw = plan->power_cap_mw;
}

static void own_free(struct app_planner *p)
{
	free(p->own.gpus);
	free(p->alone);
	p->own = (struct hes_fleet){ 0 };
	p->alone = NULL;
	if (p->gpus.types)
		gpus_fleet_free(&p->gpus);
	p->gpus = (struct gpus_fleet){ 0 };
	hes_catalogue_free(&p->types);
	p->types = (struct hes_catalogue){ 0 };
}

/* The fleet with types of the planner's own. */
static int own_make(struct app_planner *p, const struct hes_fleet *f, struct hes_err *err)
{
	int rc = app_catalogue_load(p->o->app, p->types_file, true, &p->types, err);

	p->own.gpus = calloc(f->n + 1, sizeof(*p->own.gpus));
	p->alone = calloc(f->n + 1, sizeof(*p->alone));
	if (!rc && (!p->own.gpus || !p->alone))
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu GPUs", f->n);
	for (size_t g = 0; g < f->n && !rc; g++) {
		const struct hes_gpu_type *type =
			hes_gpu_type_find(&p->types, f->gpus[g].type->name, NULL);

		p->own.gpus[p->own.n] = f->gpus[g];
		p->own.gpus[p->own.n++].type = type ? type : f->gpus[g].type;
	}
	p->catalogue = &p->types;
	return rc ? rc : look_at_gpus(p, &p->own, err);
}

static int own_load(struct app_planner *p, struct hes_jobs *jobs, struct hes_err *err)
{
	struct hes_fleet *whole = p->fleet;
	int rc = own_make(p, whole, err);

	/* A GPU that the plan has for one job at a time has no MPS. */
	for (size_t g = 0; g < p->own.n && !rc; g++) {
		if (p->plan->queues[g].together != 1)
			continue;
		p->alone[g] = *p->own.gpus[g].type;
		p->alone[g].alone = true;
		p->own.gpus[g].type = &p->alone[g];
	}
	if (!rc)
		rc = load_all(p, jobs, err);
	if (rc) {
		own_free(p);
		p->fleet = whole;
	}
	return rc;
}

int app_plan_again(void *ctx, const struct hes_run_now *now, struct hes_plan *out,
		   struct hes_err *err)
{
	struct app_planner *p = ctx;
	struct hes_request r;
	size_t n_known;
	int rc = 0;

	if (p->plan && !p->own.n)
		rc = own_load(p, now->jobs, err);
	else if (count_known(p, now) < now->n_waiting)
		rc = refresh_known(p, now->jobs, err);
	if (rc)
		return rc;
	if (!p->policy)
		return hes_fail(err, -ENOTSUP, "the plan is that of a program, which plans once");
	if (p->plan)
		hes_jobs_take_measured(now->jobs, &p->measured);
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
	rc = app_plan_around(p->policy, &r, &p->known, now->usable, out, NULL, err);
	if (!rc)
		plan_expectations(p, now->jobs, out);
	return rc;
}

const struct hes_profiles *app_planner_profiles(struct app_planner *p, const struct hes_jobs *jobs)
{
	struct hes_err err;

	refresh_known(p, jobs, &err); /* else what was known before */
	return &p->known.profiles;
}

void app_planner_close(struct app_planner *p)
{
	policy_program_free(p->program);
	app_known_free(&p->known);
	hes_profiles_free(&p->measured);
	hes_fleet_free(&p->file);
	own_free(p);
}
