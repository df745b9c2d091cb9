/*
 * jobs_add.c - add jobs to a run; see jobs_add.h.
 */
#include "app/jobs_add.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app/catalogue.h"
#include "app/jobs_load.h"
#include "app/known_store.h"
#include "app/plan_request.h"
#include "app/run_identity.h"
#include "base/clock.h"
#include "base/file.h"

#define STORE_WAIT_MS 10000
#define TAKE_WAIT_S   60
#define MOST_AGAIN    100

/* --- the run --- */

static int load_run(struct app_add *a, struct hes_err *err)
{
	const int64_t id = a->o->run;
	struct hes_run run = { 0 };
	int rc = app_store_open(a->o->app, a->o->store, HES_STORE_WRITE, STORE_WAIT_MS, &a->store,
				err);

	if (!rc) {
		rc = app_store_check_trust(a->store, run_user_behind_sudo(a->o->app), err);
		if (rc)
			hes_fail_in(err, "runs take no jobs from a store that other users can "
					 "change");
	}
	if (!rc)
		rc = hes_journal_open(a->store, &a->journal, err);
	if (!rc)
		rc = hes_journal_run(a->journal, id, &run, err);
	if (!rc && run_is_on_nodes(&run))
		rc = hes_fail(err, -ENOTSUP,
			      "run %" PRId64 " of %s is on several nodes, which take no more jobs: "
			      "plan them in a run of their own",
			      id, run_plan_name(&run));
	if (!rc && (run.state == HES_RUN_DONE || run.state == HES_RUN_FAILED))
		rc = hes_fail(err, -ESHUTDOWN,
			      "run %" PRId64
			      " is over, so no job can be added: plan the jobs and run them",
			      id);
	/* In this order: the view has the rows of all that were added before. */
	if (!rc)
		rc = hes_journal_added(a->journal, id, 0, &a->before, &a->n_before, err);
	return rc ? rc : run_view_load(a->journal, &run, &a->view, err);
}

/* Whether the plan's file is still that of the run, for whatever nodes. */
static int added_check_plan(const struct app_add *a, struct hes_err *err)
{
	const struct hes_run *run = &a->view.run;
	const char *node = NULL;
	uint64_t key;
	int rc = run_plan_key(run->plan, NULL, &key, err);

	for (size_t g = 0; g < a->fleet.n && !rc && key != run->plan_key; g++) {
		if (node && strcmp(node, a->fleet.gpus[g].node) == 0)
			continue;
		node = a->fleet.gpus[g].node;
		rc = run_plan_key(run->plan, node, &key, err);
	}
	if (rc || key == run->plan_key)
		return rc;
	return hes_fail(err, -ESTALE,
			"%s: it has changed since run %" PRId64
			" began, so the jobs that wait are not known",
			run->plan, run->id);
}

/* The plan's file, which --resume needs, and the GPUs in it. */
static int added_load_plan(struct app_add *a, struct hes_err *err)
{
	char plan[JOBS_FILE_PLAN_MAX];
	const bool of_jobs = jobs_file_has_run(&a->view.run);
	int rc = app_catalogue_load(a->o->app, a->o->catalogue, true, &a->catalogue, err);

	snprintf(plan, sizeof(plan), "%s", a->view.run.plan);
	if (of_jobs)
		jobs_file_plan_begun(&a->view.run, plan);
	if (!rc)
		rc = hes_file_check_plain(plan, err);
	if (!rc)
		rc = hes_plan_subjects(plan, &a->catalogue, &a->fleet, &a->planned, err);
	return rc || of_jobs ? rc : added_check_plan(a, err);
}

/* --- the new jobs --- */

static bool run_has_job(const struct run_view *v, const char *id)
{
	for (size_t i = 0; i < v->n_jobs; i++)
		if (strcmp(v->jobs[i].job, id) == 0)
			return true;
	return false;
}

static bool file_has_job(const struct hes_jobs *jobs, const char *id, size_t except)
{
	for (size_t k = 0; k < jobs->n; k++)
		if (k != except && strcmp(jobs->v[k].id, id) == 0 &&
		    !hes_job_is_numbered(&jobs->v[k], k))
			return true;
	return false;
}

/* Ids that only count the rows of the file go on from the run's. */
static void number_jobs(const struct run_view *v, struct hes_jobs *jobs)
{
	size_t number = v->n_jobs;

	for (size_t i = 0; i < jobs->n && jobs->made_ids; i++) {
		char *id = jobs->v[i].id;

		if (hes_job_is_numbered(&jobs->v[i], i))
			do
				snprintf(id, HES_NAME_MAX, "%zu", ++number);
			while (run_has_job(v, id) || file_has_job(jobs, id, i));
	}
}

static int check_job(const struct app_add *a, const struct hes_job *job, struct hes_err *err)
{
	if (run_has_job(&a->view, job->id))
		return hes_fail(err, -EEXIST,
				"run %" PRId64
				" has a job %s already; give the new one another name",
				a->view.run.id, job->id);
	if (job->user[0])
		return hes_fail(err, -EPERM,
				"job %s is to run as %s; jobs with a user of their own cannot be "
				"added, plan them instead",
				job->id, job->user);
	return 0;
}

/* They arrive now. */
static int added_load_jobs(struct app_add *a, struct hes_err *err)
{
	const struct jobs_file_commands *c = &a->o->commands;
	const int64_t now_us = a->view.now_us;
	int rc = app_jobs_load(a->o->app, c->pattern, a->o->jobs, true, &a->new, err);

	if (!rc)
		number_jobs(&a->view, &a->new);
	for (size_t i = 0; i < a->new.n && !rc; i++) {
		struct hes_job *job = &a->new.v[i];

		rc = check_job(a, job, err);
		job->deadline_us += job->has_deadline ? now_us - job->arrival_us : 0;
		job->arrival_us = now_us;
	}
	/* Without a pattern of their own, they have the run's. */
	if (!rc && (c->progress || a->view.run.progress[0]))
		rc = hes_jobs_set_progress(a->new.v, a->new.n, "--progress",
					   c->progress ? c->progress : a->view.run.progress, err);
	return rc ? rc : app_jobs_fill_commands(a->o->app, &a->new, c->list, c->pattern, err);
}

static int write_rows(const struct app_add *a, struct hes_err *err)
{
	const int64_t now_us = a->view.now_us > 0 ? a->view.now_us : 1,
		      after = a->n_before ? a->before[a->n_before - 1].id : 0;

	return hes_journal_add(a->journal, a->view.run.id, a->rows, a->new.n, now_us, after, err);
}

/* The run places them. */
static int make_rows(struct app_add *a, struct hes_err *err)
{
	a->rows = calloc(a->new.n + 1, sizeof(*a->rows));
	if (!a->rows)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", a->new.n);
	for (size_t i = 0; i < a->new.n; i++) {
		a->rows[i].job = a->new.v[i];
	}
	return 0;
}

/* Write the jobs into the journal. @return -EAGAIN others added jobs meanwhile */
static int added_write(struct app_add *a, struct hes_err *err)
{
	int rc = load_run(a, err);

	if (!rc)
		rc = added_load_plan(a, err);
	if (!rc)
		rc = added_load_jobs(a, err);
	if (!rc)
		rc = app_check_memory(&a->fleet, &a->new, err);
	if (!rc)
		rc = make_rows(a, err);
	return rc ? rc : write_rows(a, err);
}

int app_jobs_add(struct app_add *a, const struct app_add_options *o, struct hes_err *err)
{
	int rc = -EAGAIN;

	/* Others added jobs meanwhile, perhaps of these names. */
	for (int i = 0; rc == -EAGAIN && i <= MOST_AGAIN; i++) {
		if (i)
			app_add_close(a);
		*a = (struct app_add){ .o = o };
		rc = added_write(a, err);
	}
	if (!rc)
		a->taken = a->view.runner == RUN_VIEW_ALIVE || a->view.runner == RUN_VIEW_ELSEWHERE
				   ? APP_TAKEN_LATER
				   : APP_TAKEN_AT_RESUME;
	return rc;
}

/* --- handed over --- */

int app_jobs_await(struct app_add *a, struct hes_err *err)
{
	static const struct timespec nap = { 0, 100000000 };
	const double from_s = hes_monotonic_s();
	struct hes_run run;
	size_t left = 1;
	int rc;

	if (a->taken != APP_TAKEN_LATER)
		return 0;
	while (!(rc = hes_journal_added_waiting(a->journal, a->view.run.id, &left, err)) && left) {
		rc = hes_journal_run(a->journal, a->view.run.id, &run, err);
		if (rc)
			break;
		if (run.state != HES_RUN_GOING || !run_is_alive(&run)) {
			a->taken = APP_TAKEN_AT_RESUME;
			return 0;
		}
		if (hes_monotonic_s() - from_s > TAKE_WAIT_S)
			return hes_fail(err, -ETIMEDOUT,
					"the jobs are in the journal of run %" PRId64
					", but its process %" PRId64 " has not taken them "
					"for %d s; it takes them later, or at --resume",
					run.id, run.runner.pid, TAKE_WAIT_S);
		nanosleep(&nap, NULL);
	}
	if (!rc && !left)
		a->taken = APP_TAKEN;
	return rc;
}

void app_add_close(struct app_add *a)
{
	free(a->rows);
	hes_run_added_free(a->before, a->n_before);
	hes_jobs_free(&a->new);
	hes_jobs_free(&a->planned);
	hes_fleet_free(&a->fleet);
	hes_catalogue_free(&a->catalogue);
	run_view_free(&a->view);
	hes_journal_close(a->journal);
	hes_store_close(a->store);
}
