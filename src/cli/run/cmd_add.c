/*
 * cmd_add.c - `heshare add`: plan jobs for a run that goes on, and hand them to its runner.
 *
 * The jobs are in the journal, and on the disk, before the runner is waited for: it takes them
 * within a second, or at
 * --resume.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app/plan_request.h"
#include "app/jobs_load.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/plural.h"
#include "base/quantity.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "cli/inputs/inputs.h"
#include "cli/commands.h"
#include "app/catalogue.h"
#include "app/known_store.h"
#include "app/jobs_added.h"
#include "app/jobs_commands.h"
#include "app/jobs_file.h"
#include "cluster/head.h"
#include "cli/profile/profile.h"
#include "app/run_identity.h"

#define STORE_WAIT_MS 10000
#define TAKE_WAIT_S   60
#define MOST_AGAIN    100

struct add_opts {
	const char *command, *commands, *progress, *predictor, *profiles, *store, *catalogue;
	bool default_clock, no_wait, json;
	int before; /* operands before "--" */
};

#define AT(member) .offset = offsetof(struct add_opts, member)

/* clang-format off */
static const struct opt add_opts[] = {
	{ .name = "command", .letter = 'c', .kind = OPT_TEXT, AT(command), .arg = "PATTERN",
	  .help = "command of jobs without one of their own, with {workload}, {batch}, "
		  "{iterations}, {memory} and {job}" },
	{ .name = "commands", .kind = OPT_FILE, AT(commands), .arg = "FILE",
	  .help = "CSV file with the columns workload and command: a pattern for each workload" },
	CLI_PROGRESS_OPT(offsetof(struct add_opts, progress)),
	CLI_PREDICTOR_OPT(offsetof(struct add_opts, predictor)),
	CLI_PROFILES_OPT(offsetof(struct add_opts, profiles)),
	CLI_CATALOGUE_OPT(offsetof(struct add_opts, catalogue)),
	{ .name = "default-clock", .kind = OPT_FLAG, AT(default_clock),
	  .help = "plan only with the default clock of each GPU type" },
	{ .name = "no-wait", .kind = OPT_FLAG, AT(no_wait),
	  .help = "do not wait until the run has taken the jobs" },
	{ .name = "store", .kind = OPT_FILE, AT(store), .arg = "FILE",
	  .help = "store with the journal of the run and with what was measured; without it, "
		  CLI_STORE_PLACE },
	{ .name = "json", .kind = OPT_FLAG, AT(json),
	  .help = "print the placements as one JSON document" },
	{ 0 }
};
/* clang-format on */

struct inputs {
	struct hes_store *store;
	struct hes_journal *journal;
	struct run_view view;
	struct hes_catalogue catalogue;
	struct hes_fleet fleet, mine; /* of the plan; its GPUs of the run */
	struct hes_jobs planned, new;
	struct hes_run_added *before; /* added before */
	size_t n_before;
	struct hes_plan plan,
		merged;      /* the plan's file; of the run's GPUs, with the jobs added before */
	struct hes_jobs all; /* planned, before, new; their commands belong to these */
	struct hes_known knowledge;
	char **commands; /* of the new jobs */
	struct hes_run_added *rows;
	int64_t *busy_us;
};

static void unload(struct inputs *in)
{
	free(in->rows);
	free(in->busy_us);
	run_commands_free(in->commands, in->new.n);
	hes_known_free(&in->knowledge);
	free(in->all.v);
	hes_plan_finish(&in->merged);
	hes_plan_finish(&in->plan);
	hes_run_added_free(in->before, in->n_before);
	hes_jobs_free(&in->new);
	hes_jobs_free(&in->planned);
	free(in->mine.gpus);
	hes_fleet_free(&in->fleet);
	hes_catalogue_free(&in->catalogue);
	run_view_free(&in->view);
	hes_journal_close(in->journal);
	hes_store_close(in->store);
}

/* --- the run --- */

static bool is_on_nodes(const struct hes_run *run)
{
	char path[HES_JOURNAL_PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/" HEAD_LOCK_FILE, run->folder);
	return !access(path, F_OK);
}

static int load_run(const struct add_opts *o, int64_t id, struct inputs *in, struct hes_err *err)
{
	struct hes_run run = { 0 };
	int rc = app_store_open(cli_app(), o->store, HES_STORE_WRITE, STORE_WAIT_MS, &in->store,
				err);

	if (!rc) {
		rc = app_store_check_trust(in->store, run_user_behind_sudo(cli_app()), err);
		if (rc)
			hes_fail_in(err, "runs take no jobs from a store that other users can "
					 "change");
	}
	if (!rc)
		rc = hes_journal_open(in->store, &in->journal, err);
	if (!rc)
		rc = hes_journal_run(in->journal, id, &run, err);
	if (!rc && is_on_nodes(&run))
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
		rc = hes_journal_added(in->journal, id, 0, &in->before, &in->n_before, err);
	return rc ? rc : run_view_load(in->journal, &run, &in->view, err);
}

/* Whether the plan's file is still that of the run, for whatever nodes. */
static int check_plan(const struct inputs *in, struct hes_err *err)
{
	const struct hes_run *run = &in->view.run;
	const char *node = NULL;
	uint64_t key;
	int rc = run_plan_key(run->plan, NULL, &key, err);

	for (size_t g = 0; g < in->fleet.n && !rc && key != run->plan_key; g++) {
		if (node && strcmp(node, in->fleet.gpus[g].node) == 0)
			continue;
		node = in->fleet.gpus[g].node;
		rc = run_plan_key(run->plan, node, &key, err);
	}
	if (rc || key == run->plan_key)
		return rc;
	return hes_fail(err, -ESTALE,
			"%s: it has changed since run %" PRId64
			" began, so the jobs that wait are not known",
			run->plan, run->id);
}

static bool run_has_gpu(const struct run_view *v, const char *name)
{
	for (size_t i = 0; i < v->n_gpus; i++)
		if (strcmp(v->gpus[i].gpu, name) == 0)
			return true;
	return false;
}

/* In plans with batches, jobs that were added with one planned start are a batch. @return whether
 * the job joined the last one */
static bool join_batch(const struct inputs *in, struct hes_queue *q, const struct hes_batch *b)
{
	struct hes_batch *last = q->n ? &q->batches[q->n - 1] : NULL;

	if (!last || q->together || last->jobs[0].job < in->planned.n ||
	    last->start_us != b->start_us || last->n == HES_MAX_SHARING)
		return false;
	last->jobs[last->n++] = b->jobs[0];
	last->end_us = last->end_us > b->end_us ? last->end_us : b->end_us;
	last->energy_mj += b->energy_mj;
	return true;
}

/* Insert a job that was added before, as the runner does. */
static int insert_before(struct inputs *in, size_t i)
{
	const struct hes_run_added *a = &in->before[i];
	const long gpu = hes_fleet_find(&in->mine, a->gpu);
	struct hes_batch b = {
		.clock_mhz = hes_gpu_type_clock(in->mine.gpus[gpu].type, a->clock_mhz),
		.unlocked = !a->clock_mhz,
		.n = 1,
		.start_us = a->planned_start_us,
		.end_us = a->planned_end_us,
		.energy_mj = a->planned_mj,
		.jobs = { { .job = (uint32_t)(in->planned.n + i),
			    .sm_pct = a->sm_pct,
			    .start_us = a->planned_start_us,
			    .end_us = a->planned_end_us,
			    .activity_mw = a->activity_mw,
			    .energy_mj = a->planned_mj } },
	};
	struct hes_queue *q = gpu < 0 ? NULL : &in->merged.queues[gpu];
	size_t at = 0;
	int rc;

	if (!q || join_batch(in, q, &b))
		return 0;
	rc = hes_plan_append(&in->merged, (size_t)gpu, &b);
	if (rc)
		return rc;
	if (q->n == 1) {
		q->together = a->together;
		q->shares_pct = a->shares_pct;
	}
	while (at + 1 < q->n && strcmp(in->all.v[q->batches[at].jobs[0].job].id, a->before) != 0)
		at++;
	memmove(&q->batches[at + 1], &q->batches[at], (q->n - 1 - at) * sizeof(b));
	q->batches[at] = b;
	return 0;
}

/* The run's part of the plan with the jobs that were added before. A GPU that runs one job at a
 * time has no MPS. */
static int merge_plan(struct inputs *in, struct hes_err *err)
{
	size_t n = 0;
	int rc = hes_plan_init(&in->merged, in->mine.n);

	memcpy(in->merged.policy, in->plan.policy, sizeof(in->plan.policy));
	memcpy(in->merged.prefer, in->plan.prefer, sizeof(in->plan.prefer));
	in->merged.seed = in->plan.seed;
	for (size_t g = 0; g < in->fleet.n && !rc; g++) {
		const struct hes_queue *q = &in->plan.queues[g];

		if (n == in->mine.n || strcmp(in->fleet.gpus[g].name, in->mine.gpus[n].name) != 0)
			continue;
		for (size_t i = 0; i < q->n && !rc; i++)
			rc = hes_plan_append(&in->merged, n, &q->batches[i]);
		in->merged.queues[n].together = q->together;
		in->merged.queues[n].shares_pct = q->shares_pct;
		if (q->together == 1)
			((struct hes_gpu_type *)(uintptr_t)in->fleet.gpus[g].type)->alone = true;
		n++;
	}
	for (size_t i = 0; i < in->n_before && !rc; i++)
		rc = insert_before(in, i);
	return rc ? hes_fail(err, rc, "out of memory for %zu jobs", in->all.n) : 0;
}

static int load_plan(const struct add_opts *o, struct inputs *in, struct hes_err *err)
{
	const char *plan = in->view.run.plan;
	int rc = app_catalogue_load(cli_app(), o->catalogue, true, &in->catalogue, err);

	for (size_t i = 0; i < in->catalogue.n && !rc && o->default_clock; i++) {
		in->catalogue.types[i].clocks_mhz[0] = in->catalogue.types[i].clock_default_mhz;
		in->catalogue.types[i].n_clocks = 1;
	}
	if (!rc)
		rc = hes_file_check_plain(plan, err);
	if (!rc)
		rc = hes_plan_subjects(plan, &in->catalogue, &in->fleet, &in->planned, err);
	/* The power limits that are set now count, not those of the plan. */
	for (size_t i = 0; i < in->fleet.n_limited; i++)
		hes_gpu_type_limit(
			&in->fleet.limited[i],
			hes_gpu_type_find(&in->catalogue, in->fleet.limited[i].name, NULL)
				->power_limit_mw);
	if (!rc)
		rc = check_plan(in, err);
	if (!rc && !in->planned.n)
		rc = hes_fail(err, -ENOENT,
			      "%s does not hold its jobs, so none can be added to its runs", plan);
	if (!rc)
		rc = hes_plan_load(plan, &in->fleet, &in->planned, &in->plan, err);
	in->mine.gpus = calloc(in->fleet.n + 1, sizeof(*in->mine.gpus));
	if (!rc && !in->mine.gpus)
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu GPUs", in->fleet.n);
	for (size_t g = 0; g < in->fleet.n && !rc; g++)
		if (run_has_gpu(&in->view, in->fleet.gpus[g].name))
			in->mine.gpus[in->mine.n++] = in->fleet.gpus[g];
	return rc;
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

static int check_job(const struct inputs *in, const struct hes_job *job, struct hes_err *err)
{
	if (run_has_job(&in->view, job->id))
		return hes_fail(err, -EEXIST,
				"run %" PRId64
				" has a job %s already; give the new one another name",
				in->view.run.id, job->id);
	if (job->user[0])
		return hes_fail(err, -EPERM,
				"job %s is to run as %s; jobs with a user of their own cannot be "
				"added, plan them instead",
				job->id, job->user);
	return 0;
}

/* They arrive now. */
static int load_jobs(const struct add_opts *o, const char *path, struct inputs *in,
		     struct hes_err *err)
{
	const int64_t now_us = in->view.now_us;
	int rc = app_jobs_load(cli_app(), o->command, path, true, &in->new, err);

	if (!rc)
		number_jobs(&in->view, &in->new);
	for (size_t i = 0; i < in->new.n && !rc; i++) {
		struct hes_job *job = &in->new.v[i];

		rc = check_job(in, job, err);
		job->deadline_us += job->has_deadline ? now_us - job->arrival_us : 0;
		job->arrival_us = now_us;
	}
	/* Without a pattern of their own, they have the run's. */
	if (!rc && (o->progress || in->view.run.progress[0]))
		rc = hes_jobs_set_progress(in->new.v, in->new.n, "--progress",
					   o->progress ? o->progress : in->view.run.progress, err);
	return rc ? rc
		  : run_commands_load(cli_app(), &in->new, o->commands, o->command, &in->commands,
				      err);
}

static int join_jobs(struct inputs *in, struct hes_err *err)
{
	in->all.v = calloc(in->planned.n + in->n_before + in->new.n + 1, sizeof(*in->all.v));
	if (!in->all.v)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", in->new.n);
	for (size_t i = 0; i < in->planned.n; i++)
		in->all.v[in->all.n++] = in->planned.v[i];
	for (size_t i = 0; i < in->n_before; i++)
		in->all.v[in->all.n++] = in->before[i].job;
	for (size_t i = 0; i < in->new.n; i++)
		in->all.v[in->all.n++] = in->new.v[i];
	return 0;
}

static int make_rows(struct inputs *in, struct hes_err *err)
{
	const struct add_plan a = {
		.view = &in->view,
		.fleet = &in->mine,
		.plan = &in->merged,
		.jobs = &in->all,
		.first_new = in->planned.n + in->n_before,
		.knowledge = &in->knowledge,
		.now_us = in->view.now_us,
	};
	int rc = add_plan_make(&a, &in->rows, &in->busy_us, err);

	for (size_t i = 0; i < in->new.n && !rc; i++)
		for (size_t k = 0; k < in->new.n; k++)
			if (strcmp(in->rows[k].job.id, in->new.v[i].id) == 0)
				in->rows[k].job.command = in->commands[i];
	return rc;
}

/* --- handed over --- */

enum taken { TAKEN, TAKEN_LATER, TAKEN_AT_RESUME };

/* Wait until the runner has the jobs, or is gone. */
static int wait_taken(const struct inputs *in, enum taken *out, struct hes_err *err)
{
	static const struct timespec nap = { 0, 100000000 };
	const double from_s = hes_monotonic_s();
	struct hes_run run;
	size_t left = 1;
	int rc;

	*out = TAKEN_LATER;
	while (!(rc = hes_journal_added_waiting(in->journal, in->view.run.id, &left, err)) &&
	       left) {
		rc = hes_journal_run(in->journal, in->view.run.id, &run, err);
		if (rc)
			break;
		if (run.state != HES_RUN_GOING || !run_is_alive(&run)) {
			*out = TAKEN_AT_RESUME;
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
		*out = TAKEN;
	return rc;
}

static int print_json(const struct inputs *in, enum taken taken)
{
	json_t *jobs = json_array();

	for (size_t i = 0; i < in->new.n; i++) {
		const struct hes_run_added *a = &in->rows[i];

		const bool placed = *a->gpu;

		json_array_append_new(
			jobs,
			json_pack("{s:s, s:s, s:s*, s:o, s:o, s:o, s:o, s:o}", "job", a->job.id,
				  "workload", a->job.workload, "gpu", placed ? a->gpu : NULL,
				  "sm_pct", cli_json_maybe(placed, a->sm_pct), "clock_mhz",
				  cli_json_maybe(a->clock_mhz, a->clock_mhz), "planned_start_s",
				  cli_json_maybe(placed, (double)a->planned_start_us * 1e-6),
				  "planned_end_s",
				  cli_json_maybe(placed, (double)a->planned_end_us * 1e-6),
				  "planned_j",
				  cli_json_maybe(placed, (double)a->planned_mj * 1e-3)));
	}
	return cli_print_json("heshare-add",
			      json_pack("{s:I, s:b, s:o}", "run", (json_int_t)in->view.run.id,
					"taken", taken == TAKEN, "jobs", jobs));
}

static int print_text(const struct inputs *in, enum taken taken)
{
	const struct hes_run *run = &in->view.run;
	char from[HES_QUANTITY_MAX], until[HES_QUANTITY_MAX];

	for (size_t i = 0; i < in->new.n; i++) {
		const struct hes_run_added *a = &in->rows[i];

		if (!*a->gpu)
			continue;
		hes_visible_put(stdout, 16, a->job.id);
		putchar(' ');
		hes_visible_put(stdout, 16, a->gpu);
		printf(" %3" PRIu32 " %% ", a->sm_pct);
		if (a->clock_mhz)
			printf("%5" PRIu32 " MHz", a->clock_mhz);
		else
			printf("%9s", "unlocked");
		printf("  planned from %s to %s\n",
		       hes_time_text(from, (double)a->planned_start_us),
		       hes_time_text(until, (double)a->planned_end_us));
	}
	printf("%zu job%s %s run %" PRId64, in->new.n, hes_s(in->new.n),
	       taken == TAKEN ? "added to" : "written for", run->id);
	if (taken == TAKEN_AT_RESUME)
		printf(", which is interrupted: heshare run %s --resume starts %s",
		       run_plan_name(run), in->new.n == 1 ? "it" : "them");
	putchar('\n');
	return 0;
}

static int write_rows(const struct inputs *in, struct hes_err *err)
{
	const int64_t now_us = in->view.now_us > 0 ? in->view.now_us : 1,
		      after = in->n_before ? in->before[in->n_before - 1].id : 0;

	return hes_journal_add(in->journal, in->view.run.id, in->rows, in->new.n, now_us, after,
			       in->busy_us, err);
}

static int hand_over(const struct add_opts *o, const struct inputs *in, struct hes_err *err)
{
	enum taken taken =
		in->view.runner == RUN_VIEW_ALIVE || in->view.runner == RUN_VIEW_ELSEWHERE
			? TAKEN_LATER
			: TAKEN_AT_RESUME;

	if (taken == TAKEN_LATER && !o->no_wait && wait_taken(in, &taken, err))
		return cli_fail("add", err);
	return o->json ? print_json(in, taken) : print_text(in, taken);
}

static int load_known(const struct add_opts *o, struct inputs *in, struct hes_err *err)
{
	const struct app_known_from from = { .app = cli_app(),
					     .store = o->store,
					     .predictor = o->predictor,
					     .profiles = o->profiles,
					     .jobs = &in->all };

	return app_known_load(&from, &in->catalogue, &in->mine, &in->knowledge, err);
}

/* On the GPUs of the run's plan. */
static int check_memory(const struct add_opts *o, struct inputs *in, struct hes_err *err)
{
	char plan[JOBS_FILE_PLAN_MAX];
	int rc = app_catalogue_load(cli_app(), o->catalogue, true, &in->catalogue, err);

	jobs_file_plan(&in->view.run, plan);
	if (!rc)
		rc = hes_plan_subjects(plan, &in->catalogue, &in->fleet, &in->planned, err);
	return rc ? rc : app_check_memory(&in->fleet, &in->new, err);
}

/* The planner inside of a run of a jobs file places them. */
static int make_unplaced(struct inputs *in, struct hes_err *err)
{
	in->rows = calloc(in->new.n + 1, sizeof(*in->rows));
	in->busy_us = calloc(in->new.n + 1, sizeof(*in->busy_us));
	if (!in->rows || !in->busy_us)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", in->new.n);
	for (size_t i = 0; i < in->new.n; i++) {
		in->rows[i] = (struct hes_run_added){ .job = in->new.v[i], .sm_pct = 100 };
		in->rows[i].job.command = in->commands[i];
	}
	return 0;
}

/* Place the jobs as things are now, and write them into the journal. */
static int plan_and_write(const struct add_opts *o, int64_t id, const char *jobs, struct inputs *in,
			  struct hes_err *err)
{
	int rc = load_run(o, id, in, err);

	if (!rc && jobs_file_has_run(&in->view.run)) {
		rc = load_jobs(o, jobs, in, err);
		if (!rc)
			rc = check_memory(o, in, err);
		if (!rc)
			rc = make_unplaced(in, err);
		return rc ? rc : write_rows(in, err);
	}
	if (!rc)
		rc = load_plan(o, in, err);
	if (!rc)
		rc = load_jobs(o, jobs, in, err);
	if (!rc)
		rc = join_jobs(in, err);
	if (!rc)
		rc = merge_plan(in, err);
	if (!rc)
		rc = load_known(o, in, err);
	if (!rc)
		hes_jobs_take_measured(&in->all, &in->knowledge.measured);
	if (!rc) {
		app_known_fit(&in->knowledge, o->predictor != NULL, in->catalogue.types,
			      in->catalogue.n);
		app_known_fit(&in->knowledge, o->predictor != NULL, in->fleet.limited,
			      in->fleet.n_limited);
		rc = make_rows(in, err);
	}
	return rc ? rc : write_rows(in, err);
}

static int run_add(const void *opts, int n_args, char **args)
{
	struct add_opts given = *(const struct add_opts *)opts;
	const struct add_opts *o = &given;
	char template[HES_POINT_COMMAND];
	struct inputs in = { 0 };
	struct hes_err err;
	int64_t id;
	int rc;

	if (run_parse_id(args[0], &id, &err) ||
	    (o->progress && hes_jobs_set_progress(NULL, 0, "--progress", o->progress, &err)))
		return cli_fail("add", &err), 2;
	if (n_args > 2 && (o->before != 2 || o->command))
		return fprintf(stderr, "heshare add: name one run, one jobs file, and the command "
				       "of the jobs once, after -- or with --command\n"),
		       2;
	if (n_args > 2 && profile_command_join(n_args - 2, args + 2, template, &err))
		return cli_fail("add", &err), 2;
	if (n_args > 2)
		given.command = template;
	rc = plan_and_write(o, id, args[1], &in, &err);
	/* Others added jobs meanwhile: place these behind them. */
	for (int again = 0; rc == -EAGAIN && again < MOST_AGAIN; again++) {
		unload(&in);
		in = (struct inputs){ 0 };
		rc = plan_and_write(o, id, args[1], &in, &err);
	}
	rc = rc ? cli_fail("add", &err) : hand_over(o, &in, &err);
	unload(&in);
	return rc;
}

const struct command cmd_add = {
	.name = "add",
	.args = "RUN JOBS [-- COMMAND [ARGUMENT]...]",
	.min_args = 2,
	.max_args = CLI_MAX_ARGS,
	.before = offsetof(struct add_opts, before),
	.summary = "add jobs to a run that goes on: they are placed among those that wait",
	.text = "Hands the jobs of the file JOBS to run RUN. heshare status prints the numbers of "
		"runs. COMMAND is for jobs without a command of their own, as for heshare run.\n\n"
		"A run of a jobs file plans all jobs that wait again. In a run of a plan, jobs "
		"that "
		"run or wait stay where they are, and the new ones are planned here. In a plan of "
		"joint each new job goes to the best GPU, position, "
		"SM share and clock. In plans with batches, the plan's policy plans the new jobs "
		"behind those that wait. Give the --predictor and --profiles of heshare "
		"plan, if any.\n\n"
		"The jobs are on the disk before the command returns, and it returns when the run "
		"has taken them, within about a second. To a run that is interrupted or stopped "
		"they are added at --resume. A run that is over takes no jobs.",
	.example = "  heshare status\n"
		   "  heshare add 3 more.csv -- ./train.sh {workload} {batch} {iterations}",
	.opts = add_opts,
	.opts_size = sizeof(struct add_opts),
	.run = run_add,
};
