/*
 * run_begin.c - begin a run; see run_begin.h.
 */
#include "app/run_begin.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/catalogue.h"
#include "app/gpus_visible.h"
#include "app/jobs_file.h"
#include "app/jobs_load.h"
#include "app/known_folder.h"
#include "app/known_store.h"
#include "app/run_identity.h"
#include "app/run_gpus.h"

int app_run_check(struct app_run *r, const struct app_run_options *o, struct hes_err *err)
{
	const char *only = o->plan.gpus              ? "--gpus"
			   : o->plan.prefer          ? "--prefer"
			   : o->plan.policy          ? "--policy"
			   : o->plan.power_cap_w > 0 ? "--power-cap"
						     : NULL;
	int rc = jobs_file_check(o->file, err);

	*r = (struct app_run){ .o = o };
	r->planner = (struct app_planner){ .o = &o->plan, .catalogue = &r->catalogue };
	if (rc)
		return rc;
	r->of_jobs = jobs_file_is(o->file);
	if (r->of_jobs && o->jobs)
		return hes_fail(err, -EINVAL,
				"name one jobs file, or a plan and its jobs; a command comes after "
				"--: heshare run jobs.csv -- ./job.sh {workload} {batch}");
	if (only && !r->of_jobs)
		return hes_fail(err, -EINVAL, "%s: it is for a jobs file; %s is planned already",
				only, o->file);
	if (o->commands.progress)
		rc = hes_jobs_set_progress(NULL, 0, "--progress", o->commands.progress, err);
	return rc || !r->of_jobs ? rc : app_planner_check(&r->planner, err);
}

/* --- a plan --- */

static int run_load_jobs(struct app_run *r, struct hes_err *err)
{
	const struct app *app = r->o->plan.app;
	const char *plan = r->o->file, *jobs = r->o->jobs;
	struct hes_jobs planned;
	int rc = hes_plan_subjects(plan, &r->catalogue, r->fleet, &r->jobs, err);

	if (rc)
		return rc;
	rc = jobs_changed_warn(app, plan, &r->jobs, jobs, err);
	if (!rc && jobs) {
		planned = r->jobs;
		r->jobs = (struct hes_jobs){ 0 };
		rc = app_jobs_load(app, NULL, jobs, true, &r->jobs, err);
		if (!rc)
			rc = jobs_keep(&planned, &r->jobs, 0, err);
		if (!rc)
			app_jobs_arrive_at_once(&r->jobs);
		hes_jobs_free(&planned);
	} else if (!rc && !r->jobs.n) {
		rc = hes_fail(err, -ENOENT,
			      "%s does not hold its jobs; name their file: heshare run PLAN JOBS",
			      plan);
	}
	return rc;
}

/* With a corrected file, jobs may need more memory than was planned for, or an unknown one. */
static int validate_plan(const struct app_run *r, struct hes_err *err)
{
	const char *plan = r->o->file, *jobs = r->o->jobs;
	int rc = hes_plan_validate(&r->plan, r->fleet, &r->jobs, (uint32_t)r->o->share_sum, err);

	if (rc == -ENOSPC && jobs)
		return hes_fail_in(err,
				   "%s with the jobs of %s, which need their memory_mib or a new "
				   "plan",
				   plan, jobs);
	return rc ? hes_fail_in(err, "%s", plan) : 0;
}

static int run_load_plan(struct app_run *r, struct hes_err *err)
{
	const struct app_run_options *o = r->o;
	int rc;

	r->fleet = &r->planned_fleet;
	rc = run_load_jobs(r, err);
	if (!rc)
		rc = hes_plan_load(o->file, r->fleet, &r->jobs, &r->plan, err);
	if (!rc && r->plan.unpredicted)
		rc = hes_fail(
			err, -EINVAL,
			"%s: it has no predictions, which limit the time of jobs and show what "
			"went wrong; "
			"heshare plan --policy exec:PROGRAM writes them to what a program decides",
			o->file);
	if (!rc)
		rc = validate_plan(r, err);
	if (rc)
		return rc;
	r->node = o->node                                           ? o->node
		  : !o->on_nodes && fit_has_node(r->fleet, r->host) ? r->host
								    : NULL;
	rc = o->of_round ? run_round_key(o->file, &r->key, err)
			 : run_plan_key(o->file, r->node, &r->key, err);
	if (!rc && o->of_round)
		r->key = run_part_key(r->key, r->node);
	return rc ? rc
		  : app_jobs_fill_commands(o->plan.app, &r->jobs, o->commands.list,
					   o->commands.pattern, err);
}

/* --- a jobs file --- */

static int run_open_store(struct app_run *r, struct hes_err *err)
{
	int rc = r->store ? 0
			  : app_store_open(r->o->plan.app, r->o->plan.store, HES_STORE_WRITE,
					   RUN_STORE_WAIT_MS, &r->store, err);

	return rc || r->journal ? rc : hes_journal_open(r->store, &r->journal, err);
}

static int find_last(struct app_run *r, struct hes_err *err)
{
	int rc = hes_journal_last_run(r->journal, r->key, &r->run, err);

	return rc == -ENOENT && r->o->resume
		       ? hes_fail(err, rc, "%s was never run, so there is nothing to resume",
				  r->o->file)
		       : rc;
}

/* The run's plan, and the jobs of the file as it is now. */
static int load_begun(struct app_run *r, struct hes_err *err)
{
	char plan[JOBS_FILE_PLAN_MAX];
	struct hes_jobs planned = { 0 };
	struct hes_run_job *v = NULL;
	size_t n = 0;
	int rc = hes_journal_jobs(r->journal, r->run.id, &v, &n, err);

	r->fleet = &r->planned_fleet;
	jobs_file_plan_begun(&r->run, plan);
	if (!rc)
		rc = hes_plan_subjects(plan, &r->catalogue, r->fleet, &planned, err);
	if (!rc && planned.file && jobs_file_key(planned.file) != r->key)
		rc = hes_fail(err, -ESTALE,
			      "%s is the plan of %s by now, so run %" PRId64 " cannot go on; "
			      "without --resume the jobs run again",
			      plan, planned.file, r->run.id);
	if (!rc)
		rc = jobs_file_load(r->o->plan.app, r->o->file, &r->o->commands, &planned,
				    &(struct jobs_begun){ v, n }, &r->jobs, err);
	free(v);
	hes_jobs_free(&planned);
	if (!rc)
		rc = hes_plan_load(plan, r->fleet, &r->jobs, &r->plan, err);
	return rc ? rc : app_planner_resume(&r->planner, &r->plan, r->fleet, &r->jobs, err);
}

static int load_new(struct app_run *r, struct hes_err *err)
{
	int rc = jobs_file_load(r->o->plan.app, r->o->file, &r->o->commands, NULL, NULL, &r->jobs,
				err);

	if (!rc)
		rc = app_planner_gpus(&r->planner, err);
	r->fleet = r->planner.fleet;
	return rc ? rc : app_plan(&r->planner, &r->jobs, &r->plan, NULL, err);
}

static int load_jobs_file(struct app_run *r, struct hes_err *err)
{
	const struct app_run_options *o = r->o;
	bool begun = false;
	int rc;

	if (o->on_nodes)
		return hes_fail(
			err, -ENOTSUP,
			"%s: a jobs file is run on one machine; for several nodes plan it "
			"first: heshare plan %s --gpus slurm -o plan.json, then heshare run "
			"plan.json",
			o->file, o->file);
	rc = o->dry_run ? 0 : run_open_store(r, err);
	r->key = jobs_file_key(o->file);
	if (!rc && (o->resume || o->resume_if_begun) && !o->dry_run) {
		rc = find_last(r, err);
		begun = !rc;
		rc = rc == -ENOENT && !o->resume ? 0 : rc;
	}
	return rc ? rc : begun ? load_begun(r, err) : load_new(r, err);
}

/* --- GPUs --- */

static struct run_gpus gpus_of(struct app_run *r)
{
	return (struct run_gpus){
		r->o->plan.app, r->fleet, &r->plan, r->node, r->devices, r->gpus
	};
}

/* A rehearsal needs no GPUs. */
static void take_all(struct app_run *r)
{
	for (size_t g = 0; g < r->fleet->n; g++)
		r->gpus[g] =
			!r->node || strcmp(r->fleet->gpus[g].node, r->node) == 0 ? (long)g : -1;
}

static int open_gpus(struct app_run *r, struct hes_err *err)
{
	struct run_gpus use;
	int rc = app_devices_open(r->o->plan.app, &r->catalogue, &r->devices, err);

	r->gpus = calloc(r->fleet->n + 1, sizeof(*r->gpus));
	if (!r->gpus)
		return hes_fail(err, -ENOMEM, "out of memory for %zu GPUs", r->fleet->n);
	if (rc == -ENODEV && r->o->dry_run) {
		app_say(r->o->plan.app, "%s; the rehearsal goes by the plan's GPUs", err->msg);
		take_all(r);
		return 0;
	}
	use = gpus_of(r);
	return rc || !r->o->dry_run ? rc : run_gpus_fit(&use, r->o->other_gpus, false, err);
}

int app_run_load(struct app_run *r, struct hes_err *err)
{
	const struct app_run_options *o = r->o;
	int rc = app_catalogue_load(o->plan.app, o->catalogue, true, &r->catalogue, err);

	gethostname(r->host, sizeof(r->host) - 1);
	r->host[strcspn(r->host, ".")] = '\0';
	r->user = run_user_behind_sudo(o->plan.app);
	if (!rc)
		rc = r->of_jobs ? load_jobs_file(r, err) : run_load_plan(r, err);
	if (!rc && !o->dry_run)
		rc = run_users_check(&r->jobs, err);
	return rc || o->on_nodes ? rc : open_gpus(r, err);
}

/* --- the run --- */

/* Whether the last run of the file may go on, or give way to a new one. */
static int check_last(const struct app_run *r, struct hes_err *err)
{
	const struct app_run_options *o = r->o;
	const struct hes_run *last = &r->run;
	const bool going = last->state == HES_RUN_GOING;

	/* Heads see each other by the folder's lock, on whatever machine. */
	if (going && run_is_alive(last) && !(o->on_nodes && r->resume))
		return hes_fail(err, -EBUSY,
				"%s is being carried out by process %" PRId64 ", as run %" PRId64,
				o->file, last->runner.pid, last->id);
	if (going && strcmp(last->host, r->host) != 0 && !o->restart && !o->on_nodes)
		return hes_fail(err, -EBUSY,
				"run %" PRId64 " of %s began on %s and has not ended; whether it "
				"goes on cannot be seen from %s: "
				"resume it there, or start over with --restart",
				last->id, o->file, last->host, r->host);
	if ((going || last->state == HES_RUN_STOPPED) && !r->resume && !o->restart)
		return hes_fail(
			err, -EEXIST,
			"run %" PRId64
			" of %s was interrupted; --resume goes on with it, --restart starts over",
			last->id, o->file);
	if (!r->resume)
		app_say(o->plan.app,
			"run %" PRId64 " of %s is %s; this is a new run of all its jobs", last->id,
			o->file, hes_run_state_names[last->state]);
	return 0;
}

/* A new run, or the last one again. */
static int choose_run(struct app_run *r, struct hes_err *err)
{
	const struct app_run_options *o = r->o;
	struct run_gpus use;
	int rc = find_last(r, err);

	r->resume = o->resume || (o->resume_if_begun && !rc);
	if (!rc)
		rc = check_last(r, err);
	else if (rc == -ENOENT && !o->resume)
		rc = 0;
	if (rc)
		return rc;
	if (!r->resume) {
		r->run = (struct hes_run){ .plan_key = r->key };
		run_plan_path(o->file, r->run.plan);
		snprintf(r->run.host, sizeof(r->run.host), "%s", r->host);
	}
	if (o->on_nodes)
		return 0;
	use = gpus_of(r);
	rc = r->resume ? run_gpus_bind(&use, r->journal, r->run.id, err) : 0;
	if (!rc)
		rc = run_gpus_fit(&use, o->other_gpus, r->resume, err);
	return rc ? rc : run_gpus_check(&use, r->journal, r->run.id, err);
}

/* Of a plan: the planner has loaded those of a jobs file. */
static int load_profiles(struct app_run *r, struct hes_err *err)
{
	const struct hes_gpu_type *types[APP_KNOWN_TYPES];
	const size_t n = hes_fleet_types(r->fleet, types, APP_KNOWN_TYPES);
	const char *file = r->o->plan.profiles;
	int rc = file ? app_profiles_load(file, &r->profiles, err)
		      : app_known_measured(r->store, &r->catalogue, types, n, &r->profiles, err);

	if (rc)
		return rc;
	hes_jobs_take_measured(&r->jobs, &r->profiles);
	hes_profiles_hold(&r->profiles, r->catalogue.types, r->catalogue.n);
	hes_profiles_hold(&r->profiles, r->fleet->limited, r->fleet->n_limited);
	return 0;
}

int app_run_open(struct app_run *r, struct hes_err *err)
{
	const struct app_run_options *o = r->o;
	const bool others = run_has_other_users(&r->jobs, r->user);
	int rc = run_open_store(r, err);

	if (!rc)
		rc = choose_run(r, err);
	if (!rc)
		rc = run_folder_choose(r->resume ? r->run.folder : o->folder, o->file, others,
				       r->run.folder, &r->made_folder, err);
	if (!rc && !o->on_nodes)
		rc = run_folder_choose_mps(r->run.folder, others, r->mps_folder, err);
	if (!rc && o->commands.progress)
		snprintf(r->run.progress, sizeof(r->run.progress), "%s", o->commands.progress);
	if (!rc && r->run.progress[0])
		rc = hes_jobs_set_progress(r->jobs.v, r->jobs.n, "progress", r->run.progress, err);
	if (!rc && !r->of_jobs)
		rc = load_profiles(r, err);
	return rc || r->resume || !r->of_jobs
		       ? rc
		       : jobs_file_save_plan(r->journal, &r->run, &r->catalogue, &r->plan, r->fleet,
					     &r->jobs, err);
}

void app_run_request(struct app_run *r, struct hes_run_request *q)
{
	q->plan = &r->plan;
	q->fleet = r->fleet;
	q->jobs = &r->jobs;
	q->devices = r->devices;
	q->gpus = r->gpus;
	q->profiles = app_run_measured(r);
	q->store = r->store;
	q->folder = r->run.folder;
	if (r->of_jobs && !r->resume && !r->o->dry_run) {
		jobs_file_plan_next(&r->run, r->plan_next);
		jobs_file_plan(&r->run, r->plan_file);
		q->plan_next = r->plan_next;
		q->plan_file = r->plan_file;
	}
	q->mps_folder = r->o->dry_run ? "MPS" : r->mps_folder;
	q->user = r->user || !r->o->dry_run ? r->user : run_own_name();
	q->takes_added = r->o->dry_run || !app_store_check_trust(r->store, r->user, NULL);
	q->replan = r->o->of_round && !r->of_jobs ? NULL : app_plan_again;
	q->replan_ctx = &r->planner;
	q->waiting_stay = !r->of_jobs;
	if (!r->of_jobs)
		app_planner_keep(&r->planner, &r->plan, r->fleet, r->o->catalogue);
}

const struct hes_profiles *app_run_profiles(struct app_run *r)
{
	return r->of_jobs ? app_planner_profiles(&r->planner, &r->jobs) : &r->profiles;
}

const struct hes_profiles *app_run_measured(const struct app_run *r)
{
	return r->of_jobs ? &r->planner.measured : &r->profiles;
}

int app_run_profiling(const struct app_run *r, struct hes_store_profiling *out, struct hes_err *err)
{
	const struct hes_profiles *own = app_run_measured(r);

	return app_known_profiling(r->store, r->o->plan.profiles ? own : NULL, &r->jobs, out, err);
}

/* Of a run that did not begin, if it made them. */
static void remove_folders(struct app_run *r)
{
	if (r->run.id || !r->made_folder)
		return;
	unlink(r->plan_next);
	rmdir(r->mps_folder);
	rmdir(r->run.folder);
}

void app_run_close(struct app_run *r)
{
	remove_folders(r);
	hes_profiles_free(&r->profiles);
	hes_journal_close(r->journal);
	hes_store_close(r->store);
	free(r->gpus);
	hes_devices_close(r->devices);
	hes_plan_finish(&r->plan);
	hes_jobs_free(&r->jobs);
	hes_fleet_free(&r->planned_fleet);
	app_planner_close(&r->planner);
	hes_catalogue_free(&r->catalogue);
}
