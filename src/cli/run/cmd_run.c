/*
 * cmd_run.c - `heshare run`: carry out a plan on the GPUs of this machine and report.
 *
 * Loads the plan with its jobs, matches the GPUs, opens the store and calls the runner
 * (heshare/run.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "cli/cli.h"
#include "app/jobs_load.h"
#include "cli/commands.h"
#include "app/catalogue.h"
#include "cli/inputs/inputs.h"
#include "app/jobs_changed.h"
#include "cli/inputs/offers.h"
#include "app/known_folder.h"
#include "cluster/head.h"
#include "cli/profile/profile.h"
#include "cli/run/carry_out.h"
#include "app/jobs_commands.h"
#include "app/jobs_file.h"
#include "cli/run/run_ending.h"
#include "app/run_folder.h"
#include "app/run_gpus.h"
#include "app/run_identity.h"
#include "app/run_planner.h"
#include "cli/run/run_shown.h"
#include "app/known_store.h"
#include "app/gpus_visible.h"

struct run_opts {
	bool dry_run, resume, resume_if_begun, restart, wrap, stop_file;
	int before; /* operands before "--" */
	const char *jobs, *command, *commands, *node, *store, *profiles, *catalogue, *launcher,
		*program, *predictor, *progress;
	uint64_t retries;
	uint64_t share_sum;
	double timeout_factor, timeout_least_s, grace_s, before_end_s;
	bool no_clocks, no_mps, json, allow_setuid, early_ok, other_gpus;
	const char *log_max, *gpus, *policy, *prefer;
	double power_cap_w;
};

#define AT(member) .offset = offsetof(struct run_opts, member)

/* clang-format off */
static const struct opt run_opts[] = {
	{ .heading = "planning a jobs file",
	  .name = "gpus", .letter = 'g', .kind = OPT_TEXT, AT(gpus), .arg = "LIST",
	  .help = "use these GPUs: all, or indices, UUIDs, PCI addresses with commas; without it, "
		  "all that can be used" },
	{ .name = "prefer", .kind = OPT_TEXT, AT(prefer), .arg = "NAME", .offer = offer_preferences,
	  .help = "what to favour: busy energy, average completion time (jct), or both (balanced); "
		  "without it, balanced" },
	{ .name = "power-cap", .kind = OPT_DOUBLE, AT(power_cap_w), .arg = "W", .max = 1e9,
	  .help = "keep the sum of the power of all GPUs below this, W; 0: no cap" },
	{ .name = "policy", .letter = 'p', .kind = OPT_TEXT, AT(policy), .arg = "NAME",
	  .offer = offer_contenders,
	  .help = "policy, as NAME, NAME:PREFERENCE or NAME:VARIANT; without it, joint" },
	{ .heading = "the run",
	  .name = "dry-run", .kind = OPT_FLAG, AT(dry_run),
	  .help = "print every act in order, with planned times, and do nothing" },
	{ .name = "resume", .kind = OPT_FLAG, AT(resume),
	  .help = "continue the last run of this plan; jobs that are done do not run again" },
	{ .name = "resume-if-begun", .kind = OPT_FLAG, AT(resume_if_begun),
	  .help = "--resume if this plan was run before, else begin" },
	{ .name = "restart", .kind = OPT_FLAG, AT(restart), .without = "resume,resume-if-begun",
	  .help = "start again although the last run of this plan can be resumed" },
	{ .name = "jobs", .letter = 'j', .kind = OPT_FILE, AT(jobs), .arg = "DIR",
	  .help = "folder for the output of the jobs and the plan; without it, the name of the "
		  "file with .run in place of .csv or .json" },
	{ .name = "log-max", .kind = OPT_TEXT, AT(log_max), .arg = "SIZE", .def = "1G",
	  .help = "of more output than SIZE (100k, 50M, 2G), an attempt of a job keeps the "
		  "beginning, progress lines and the end; 0: keep all" },
	{ .heading = "commands of jobs",
	  .name = "command", .letter = 'c', .kind = OPT_TEXT, AT(command), .arg = "PATTERN",
	  .help = "command of jobs without one of their own, with {workload}, {batch}, "
		  "{iterations}, {memory} and {job}" },
	{ .name = "commands", .kind = OPT_FILE, AT(commands), .arg = "FILE",
	  .help = "CSV file with the columns workload and command: a pattern for each workload" },
	CLI_PROGRESS_OPT(offsetof(struct run_opts, progress)),
	{ .name = "allow-setuid", .kind = OPT_FLAG, AT(allow_setuid),
	  .help = "let jobs gain rights by setuid programs such as sudo and ping" },
	{ .name = "node", .kind = OPT_TEXT, AT(node), .arg = "NAME",
	  .help = "run only the jobs of this node; without it, those of this machine if the plan "
		  "names it, else all" },
	{ .heading = "several nodes",
	  .name = "launcher", .kind = OPT_TEXT, AT(launcher), .arg = "HOW",
	  .help = "carry out the plan on several nodes: slurm, by srun, as is done in a Slurm job "
		  "of several nodes without this option, or ssh:HOSTFILE" },
	{ .name = "program", .kind = OPT_FILE, AT(program), .arg = "FILE",
	  .help = "heshare on the nodes, if it is not this program's file" },
	{ .name = "predictor", .kind = OPT_FILE, AT(predictor), .arg = "FILE",
	  .help = "predictor of heshare train, to plan again what a node left; without it, one "
		  "trained on the store's samples" },
	{ .name = "before-end", .kind = OPT_DOUBLE, AT(before_end_s), .arg = "S", .def = "60",
	  .max = 1e6,
	  .help = "in a Slurm job: stop in order so long before its time limit, seconds" },
	{ .heading = "jobs that fail",
	  .name = "retries", .kind = OPT_U64, AT(retries), .arg = "N", .def = "2", .max = 1000,
	  .help = "try a job that failed again, at most N times" },
	{ .name = "early-ok", .kind = OPT_FLAG, AT(early_ok),
	  .help = "accept jobs that end early: exit status 0, but not all of their work was seen" },
	{ .name = "timeout-factor", .kind = OPT_DOUBLE, AT(timeout_factor), .arg = "X", .def = "10",
	  .max = 1e6,
	  .help = "end a job with iterations after X times its planned time; 0: never" },
	{ .name = "timeout-least", .kind = OPT_DOUBLE, AT(timeout_least_s), .arg = "S",
	  .def = "600", .max = 1e9,
	  .help = "a job is never ended before this time, seconds" },
	{ .name = "grace", .kind = OPT_DOUBLE, AT(grace_s), .arg = "S", .def = "30", .max = 1e6,
	  .help = "time from asking a job to end until it is killed, seconds" },
	{ .heading = "GPUs",
	  .name = "no-clocks", .kind = OPT_FLAG, AT(no_clocks), .help = "do not set clocks" },
	{ .name = "other-gpus", .kind = OPT_FLAG, AT(other_gpus),
	  .help = "let other GPUs of the same types stand for those that the plan was made for and "
		  "that are not here" },
	{ .name = "share-sum", .kind = OPT_U64, AT(share_sum), .arg = "PCT", .def = "100",
	  .min = 100, .max = 100 * HES_MAX_SHARING,
	  .help = "for batches: highest sum of the shares on a GPU, %; above 100, jobs slow each "
		  "other more" },
	{ .name = "no-mps", .kind = OPT_FLAG, AT(no_mps),
	  .help = "do not start MPS: jobs that share a GPU take turns" },
	CLI_CATALOGUE_OPT(offsetof(struct run_opts, catalogue)),
	{ .heading = "records and report",
	  .name = "profiles", .kind = OPT_FILE, AT(profiles), .arg = "FILE",
	  .help = "profiles.csv or its folder, to split joules and to add samples of this run; "
		  "without it, those of the store" },
	{ .name = "store", .kind = OPT_FILE, AT(store), .arg = "FILE",
	  .help = "store with the journal of the run; without it " CLI_STORE_PLACE },
	{ .name = "json", .kind = OPT_FLAG, AT(json),
	  .help = "print the report as one JSON document" },
	{ .name = "stop-file", .kind = OPT_FLAG, AT(stop_file), .hidden = true, .help = "internal: "
		"a file \"stop\" in the folder stops the run" },
	{ .name = "wrap", .kind = OPT_FLAG, AT(wrap), .hidden = true,
	  .help = "internal: run one job and write down its status" },
	{ 0 }
};
/* clang-format on */

/* All that a run is made of. */
struct inputs {
	struct hes_catalogue catalogue;
	struct hes_fleet fleet;
	struct hes_jobs jobs;
	struct hes_plan plan;
	uint64_t key;
	char **commands;
	struct hes_devices *devices;
	long *gpus;
	const char *node;
	char host[64];
	struct hes_store *store;
	struct hes_journal *journal;
	struct hes_profiles profiles;
	struct hes_run run;
	char mps_folder[PATH_MAX];
	const char *user;
	struct launcher launcher;
	bool on_nodes;                    /* by runners on several nodes */
	bool resume;                      /* the last run of the plan */
	bool of_jobs;                     /* of a jobs file */
	char template[HES_POINT_COMMAND]; /* COMMAND, for a shell; "": there is none */
	struct jobs_file_commands patterns;
	struct run_planner_options options;
	struct run_planner planner;
};

static void unload(struct inputs *in)
{
	launcher_close(&in->launcher);
	hes_profiles_free(&in->profiles);
	hes_journal_close(in->journal);
	hes_store_close(in->store);
	free(in->gpus);
	hes_devices_close(in->devices);
	run_commands_free(in->commands, in->jobs.n);
	hes_plan_finish(&in->plan);
	hes_jobs_free(&in->jobs);
	if (in->planner.owns_fleet)
		in->fleet = (struct hes_fleet){ 0 };
	hes_fleet_free(&in->fleet);
	run_planner_close(&in->planner);
	hes_catalogue_free(&in->catalogue);
}

/* --- the plan --- */

static bool plan_has_node(const struct hes_fleet *f, const char *name)
{
	for (size_t g = 0; g < f->n; g++)
		if (strcmp(f->gpus[g].node, name) == 0)
			return true;
	return false;
}

static int load_jobs(const char *plan, const char *jobs, struct inputs *in, struct hes_err *err)
{
	struct hes_jobs planned;
	int rc = hes_plan_subjects(plan, &in->catalogue, &in->fleet, &in->jobs, err);

	if (rc)
		return rc;
	rc = jobs_changed_warn(cli_app(), plan, &in->jobs, jobs, err);
	if (!rc && jobs) {
		planned = in->jobs;
		in->jobs = (struct hes_jobs){ 0 };
		rc = app_jobs_load(cli_app(), NULL, jobs, true, &in->jobs, err);
		if (!rc)
			rc = jobs_keep_measured(&planned, &in->jobs, err);
		if (!rc)
			app_jobs_arrive_at_once(&in->jobs);
		hes_jobs_free(&planned);
	} else if (!rc && !in->jobs.n) {
		rc = hes_fail(err, -ENOENT,
			      "%s does not hold its jobs; name their file: heshare run PLAN JOBS",
			      plan);
	}
	return rc;
}

/* With a corrected file, jobs may need more memory than was planned for, or an unknown one. */
static int validate_plan(const struct inputs *in, uint32_t share_sum, const char *plan,
			 const char *jobs, struct hes_err *err)
{
	int rc = hes_plan_validate(&in->plan, &in->fleet, &in->jobs, share_sum, err);

	if (rc == -ENOSPC && jobs)
		return hes_fail_in(err,
				   "%s with the jobs of %s, which need their memory_mib or a new "
				   "plan",
				   plan, jobs);
	return rc ? hes_fail_in(err, "%s", plan) : 0;
}

static int read_plan(const struct run_opts *o, const char *plan, const char *jobs,
		     struct inputs *in, struct hes_err *err)
{
	int rc = load_jobs(plan, jobs, in, err);

	if (!rc)
		rc = hes_plan_load(plan, &in->fleet, &in->jobs, &in->plan, err);
	if (!rc && in->plan.unpredicted)
		rc = hes_fail(
			err, -EINVAL,
			"%s: it has no predictions, which limit the time of jobs and show what "
			"went wrong; "
			"heshare plan --policy exec:PROGRAM writes them to what a program decides",
			plan);
	return rc ? rc : validate_plan(in, (uint32_t)o->share_sum, plan, jobs, err);
}

static int load_plan(const struct run_opts *o, const char *plan, const char *jobs,
		     struct inputs *in, struct hes_err *err)
{
	int rc = read_plan(o, plan, jobs, in, err);

	if (rc)
		return rc;
	in->node = o->node                                                ? o->node
		   : !in->on_nodes && plan_has_node(&in->fleet, in->host) ? in->host
									  : NULL;
	rc = o->stop_file && o->node ? run_round_key(plan, &in->key, err)
				     : run_plan_key(plan, in->node, &in->key, err);
	if (!rc && o->stop_file && o->node)
		in->key = run_part_key(in->key, in->node);
	return rc ? rc
		  : run_commands_load(cli_app(), &in->jobs, in->patterns.list, in->patterns.pattern,
				      &in->commands, err);
}

/* --- a jobs file --- */

static int open_store(const struct run_opts *o, struct inputs *in, struct hes_err *err)
{
	int rc = in->store ? 0
			   : app_store_open(cli_app(), o->store, HES_STORE_WRITE, RUN_STORE_WAIT_MS,
					    &in->store, err);

	return rc || in->journal ? rc : hes_journal_open(in->store, &in->journal, err);
}

/* The run's plan, and the jobs of the file as it is now. */
static int load_begun(const char *path, struct inputs *in, struct hes_err *err)
{
	char plan[JOBS_FILE_PLAN_MAX];
	struct hes_jobs planned = { 0 };
	struct hes_run_job *v = NULL;
	size_t n = 0;
	int rc = hes_journal_jobs(in->journal, in->run.id, &v, &n, err);

	jobs_file_plan(&in->run, plan);
	if (!rc)
		rc = hes_plan_subjects(plan, &in->catalogue, &in->fleet, &planned, err);
	if (!rc)
		rc = jobs_file_load(cli_app(), path, &in->patterns, &planned,
				    &(struct jobs_begun){ v, n }, &in->jobs, err);
	free(v);
	hes_jobs_free(&planned);
	if (!rc)
		rc = hes_plan_load(plan, &in->fleet, &in->jobs, &in->plan, err);
	if (!rc)
		rc = run_planner_resume(&in->planner, &in->plan, &in->fleet, &in->jobs, err);
	if (!rc)
		hes_profiles_hold(&in->planner.measured, in->catalogue.types, in->catalogue.n);
	return rc;
}

static int load_new(const char *path, struct inputs *in, struct hes_err *err)
{
	int rc = jobs_file_load(cli_app(), path, &in->patterns, NULL, NULL, &in->jobs, err);

	if (!rc)
		rc = run_planner_gpus(&in->planner, &in->fleet, err);
	return rc ? rc : run_planner_first(&in->planner, &in->jobs, &in->plan, err);
}

static int load_jobs_file(const struct run_opts *o, const char *path, struct inputs *in,
			  struct hes_err *err)
{
	int rc = o->dry_run ? 0 : open_store(o, in, err);
	bool begun = false;

	if (in->on_nodes)
		rc = hes_fail(err, -ENOTSUP,
			      "%s: a jobs file is run on one machine; for several nodes plan it "
			      "first: heshare plan %s --gpus slurm -o plan.json, then heshare run "
			      "plan.json",
			      path, path);
	in->key = jobs_file_key(path);
	if (!rc && (o->resume || o->resume_if_begun) && !o->dry_run) {
		rc = hes_journal_last_run(in->journal, in->key, &in->run, err);
		begun = !rc;
		if (rc == -ENOENT)
			rc = o->resume ? hes_fail(err, rc,
						  "%s was never run, so there is nothing to "
						  "resume",
						  path)
				       : 0;
	}
	if (!rc)
		rc = begun ? load_begun(path, in, err) : load_new(path, in, err);
	return rc ? rc : run_commands_load(cli_app(), &in->jobs, NULL, NULL, &in->commands, err);
}

/* --- GPUs --- */

static struct run_gpus gpus_of(struct inputs *in)
{
	return (struct run_gpus){
		cli_app(), &in->fleet, &in->plan, in->node, in->devices, in->gpus
	};
}

/* A rehearsal needs no GPUs. */
static void take_all(struct inputs *in)
{
	for (size_t g = 0; g < in->fleet.n; g++)
		in->gpus[g] =
			!in->node || strcmp(in->fleet.gpus[g].node, in->node) == 0 ? (long)g : -1;
}

static int open_gpus(const struct run_opts *o, struct inputs *in, struct hes_err *err)
{
	struct run_gpus use;
	int rc = app_devices_open(cli_app(), &in->catalogue, &in->devices, err);

	in->gpus = calloc(in->fleet.n + 1, sizeof(*in->gpus));
	if (!in->gpus)
		return hes_fail(err, -ENOMEM, "out of memory for %zu GPUs", in->fleet.n);
	if (rc == -ENODEV && o->dry_run) {
		fprintf(stderr, "heshare run: %s; the rehearsal goes by the plan's GPUs\n",
			err->msg);
		take_all(in);
		return 0;
	}
	use = gpus_of(in);
	return rc || !o->dry_run ? rc : run_gpus_fit(&use, o->other_gpus, false, err);
}

/* --- the run --- */

/* A new run, or the last one again. */
static int choose_run(const struct run_opts *o, const char *plan, struct inputs *in,
		      struct hes_err *err)
{
	struct run_gpus use;
	int rc = hes_journal_last_run(in->journal, in->key, &in->run, err);
	bool there = !rc;

	in->resume = o->resume || (o->resume_if_begun && there);
	if (rc && (rc != -ENOENT || o->resume))
		return rc == -ENOENT
			       ? hes_fail(err, rc,
					  "%s was never run, so there is nothing to resume", plan)
			       : rc;
	/* Heads see each other by the folder's lock, on whatever machine. */
	if (there && in->run.state == HES_RUN_GOING && run_is_alive(&in->run) &&
	    !(in->on_nodes && in->resume))
		return hes_fail(err, -EBUSY,
				"%s is being carried out by process %" PRId64 ", as run %" PRId64,
				plan, in->run.runner.pid, in->run.id);
	if (there && in->run.state == HES_RUN_GOING && strcmp(in->run.host, in->host) != 0 &&
	    !o->restart && !in->on_nodes)
		return hes_fail(err, -EBUSY,
				"run %" PRId64 " of %s began on %s and has not ended; whether it "
				"goes on cannot be seen from %s: "
				"resume it there, or start over with --restart",
				in->run.id, plan, in->run.host, in->host);
	if (there && (in->run.state == HES_RUN_GOING || in->run.state == HES_RUN_STOPPED) &&
	    !in->resume && !o->restart)
		return hes_fail(
			err, -EEXIST,
			"run %" PRId64
			" of %s was interrupted; --resume goes on with it, --restart starts over",
			in->run.id, plan);
	if (there && !in->resume)
		fprintf(stderr,
			"heshare run: run %" PRId64
			" of %s is %s; this is a new run of all its jobs\n",
			in->run.id, plan, hes_run_state_names[in->run.state]);
	if (!in->resume) {
		in->run = (struct hes_run){ .plan_key = in->key };
		run_plan_path(plan, in->run.plan);
		snprintf(in->run.host, sizeof(in->run.host), "%s", in->host);
	}
	if (in->on_nodes)
		return 0;
	use = gpus_of(in);
	rc = in->resume ? run_gpus_bind(&use, in->journal, in->run.id, err) : 0;
	if (!rc)
		rc = run_gpus_fit(&use, o->other_gpus, in->resume, err);
	return rc ? rc : run_gpus_check(&use, in->journal, in->run.id, err);
}

static int load_profiles(const struct run_opts *o, struct inputs *in, struct hes_err *err)
{
	const struct hes_gpu_type *types[HES_KNOWN_TYPES];
	const size_t n = hes_fleet_types(&in->fleet, types, HES_KNOWN_TYPES);
	int rc = o->profiles ? app_profiles_load(o->profiles, &in->profiles, err)
			     : hes_known_measured(in->store, &in->catalogue, types, n,
						  &in->profiles, err);

	if (!rc) {
		hes_jobs_take_measured(&in->jobs, &in->profiles);
		hes_profiles_hold(&in->profiles, in->catalogue.types, in->catalogue.n);
		hes_profiles_hold(&in->profiles, in->fleet.limited, in->fleet.n_limited);
	}
	return rc;
}

static int open_run(const struct run_opts *o, const char *plan, struct inputs *in,
		    struct hes_err *err)
{
	int rc = open_store(o, in, err);

	if (!rc)
		rc = choose_run(o, plan, in, err);
	if (!rc)
		rc = run_folder_choose(in->resume ? in->run.folder : o->jobs, plan,
				       run_has_other_users(&in->jobs, in->user), in->run.folder,
				       err);
	if (!rc && !in->on_nodes)
		rc = run_folder_choose_mps(in->run.folder, run_has_other_users(&in->jobs, in->user),
					   in->mps_folder, err);
	if (!rc && o->progress)
		snprintf(in->run.progress, sizeof(in->run.progress), "%s", o->progress);
	if (!rc && in->run.progress[0])
		rc = hes_jobs_set_progress(in->jobs.v, in->jobs.n, "progress", in->run.progress,
					   err);
	if (!rc && !in->of_jobs) /* the planner has loaded those of a jobs file */
		rc = load_profiles(o, in, err);
	return rc || in->resume || !in->of_jobs
		       ? rc
		       : jobs_file_save_plan(in->journal, &in->run, &in->catalogue, &in->plan,
					     &in->fleet, &in->jobs, err);
}

/* --- the end --- */

/* @param more  of a run on several nodes; may be NULL. It is used up */
static int tell_report(const struct run_opts *o, struct inputs *in, const struct hes_run_report *r,
		       json_t *more)
{
	const struct hes_profiles *file = in->of_jobs ? &in->planner.measured : &in->profiles;
	struct hes_err err;
	struct run_ending e = {
		.catalogue = &in->catalogue,
		.jobs = &in->jobs,
		.profiles =
			in->of_jobs ? run_planner_profiles(&in->planner, &in->jobs) : &in->profiles,
		.json = o->json,
		.early_ok = o->early_ok,
	};

	if (hes_known_profiling(in->store, o->profiles ? file : NULL, &in->jobs, &e.profiling,
				&err))
		cli_fail("run", &err);
	return run_ending_tell(&e, r, more);
}

/* When to stop because of the time limit of a Slurm job, by the monotonic clock; 0: never. A head
 * stops its runners. */
static double stop_time(const struct run_opts *o)
{
	const double left_s = o->dry_run || o->stop_file ? -1 : slurm_seconds_left(cli_app()),
		     now_s = hes_monotonic_s();

	return left_s < 0 ? 0 : left_s > o->before_end_s ? now_s + left_s - o->before_end_s : now_s;
}

/* Options that go on to the runners. @return what holds their values; free() it */
static char *runner_args(const struct run_opts *o, const char **out)
{
	char *values = calloc(5, 64);
	size_t n = 0;

	if (!values)
		return NULL;
	snprintf(values, 64, "--retries=%llu", (unsigned long long)o->retries);
	snprintf(values + 64, 64, "--share-sum=%llu", (unsigned long long)o->share_sum);
	snprintf(values + 128, 64, "--timeout-factor=%.17g", o->timeout_factor);
	snprintf(values + 192, 64, "--timeout-least=%.17g", o->timeout_least_s);
	snprintf(values + 256, 64, "--grace=%.17g", o->grace_s);
	for (size_t i = 0; i < 5; i++)
		out[n++] = values + 64 * i;
	if (o->no_clocks)
		out[n++] = "--no-clocks";
	if (o->no_mps)
		out[n++] = "--no-mps";
	if (o->allow_setuid)
		out[n++] = "--allow-setuid";
	if (o->early_ok)
		out[n++] = "--early-ok";
	if (o->catalogue) {
		out[n++] = "--catalogue";
		out[n++] = o->catalogue;
	}
	if (o->profiles) {
		out[n++] = "--profiles";
		out[n++] = o->profiles;
	}
	out[n++] = "--log-max";
	out[n++] = o->log_max;
	out[n] = NULL;
	return values;
}

static int carry_out_on_nodes(const struct run_opts *o, struct inputs *in)
{
	const char *args[17];
	char *values = runner_args(o, args);
	const struct head_request q = {
		.launcher = &in->launcher,
		.catalogue = &in->catalogue,
		.plan = &in->plan,
		.fleet = &in->fleet,
		.jobs = &in->jobs,
		.commands = in->commands,
		.store = in->store,
		.journal = in->journal,
		.predictor = o->predictor,
		.profiles = o->profiles,
		.runner_args = args,
		.stop_s = stop_time(o),
		.early_ok = o->early_ok,
		.listener = { .message = run_show_message, .progress = run_show_progress },
	};
	struct hes_run_report report = { 0 };
	json_t *nodes = NULL;
	struct hes_err err;
	int status;

	run_keep_stops();
	status = values ? head_run(&q, &in->run, &report, &nodes, &err)
			: hes_fail(&err, -ENOMEM, "out of memory");
	free(values);
	if (status)
		return cli_fail("run", &err);
	status = tell_report(o, in, &report, nodes);
	hes_run_report_free(&report);
	return status;
}

static int carry_out(const struct run_opts *o, struct inputs *in)
{
	struct hes_run_request q = {
		.plan = &in->plan,
		.fleet = &in->fleet,
		.jobs = &in->jobs,
		.commands = (const char *const *)in->commands,
		.devices = in->devices,
		.gpus = in->gpus,
		.profiles = in->of_jobs ? &in->planner.measured : &in->profiles,
		.store = in->store,
		.folder = in->run.folder,
		.mps_folder = in->mps_folder,
		.user = in->user,
		.retries = (unsigned)o->retries,
		.early_ok = o->early_ok,
		.timeout_factor = o->timeout_factor,
		.timeout_least_us = (int64_t)(o->timeout_least_s * 1e6),
		.grace_us = (int64_t)(o->grace_s * 1e6),
		.no_clocks = o->no_clocks,
		.no_mps = o->no_mps,
		.allow_setuid = o->allow_setuid,
		.takes_added = o->dry_run || !app_store_check_trust(in->store, in->user, NULL),
		.stop_s = stop_time(o),
		.takes_stop_file = o->stop_file,
		.replan = in->of_jobs ? run_planner_again : NULL,
		.replan_ctx = &in->planner,
		.listener = { .message = run_show_message, .progress = run_show_progress },
	};
	struct hes_run_report report = { 0 };
	struct hes_err err;
	int status;

	if (o->dry_run) {
		q.mps_folder = "MPS";
		q.user = q.user ? q.user : run_own_name();
		q.listener.act = run_show_act;
		return hes_run_rehearse(&q, &err) ? cli_fail("run", &err) : 0;
	}
	if (run_carry_out(&q, o->log_max, in->journal, &in->run, &report, &err))
		return cli_fail("run", &err);
	status = tell_report(o, in, &report, NULL);
	hes_run_report_free(&report);
	return status;
}

/* What only a jobs file takes. @return 0; -EINVAL wrong usage */
static int check_use(const struct run_opts *o, int n_args, char **args, struct inputs *in,
		     struct hes_err *err)
{
	const char *only = o->gpus              ? "--gpus"
			   : o->prefer          ? "--prefer"
			   : o->policy          ? "--policy"
			   : o->power_cap_w > 0 ? "--power-cap"
						: NULL;
	const int files = o->before < 0 ? n_args : o->before;
	int rc = o->progress ? hes_jobs_set_progress(NULL, 0, "--progress", o->progress, err) : 0;

	if (!rc && o->launcher)
		rc = launcher_check(o->launcher, err);
	if (!rc && files > 0)
		rc = jobs_file_check(args[0], err);
	if (rc)
		return rc;
	in->of_jobs = files > 0 && jobs_file_is(args[0]);
	if (files < 1 || files > (in->of_jobs ? 1 : 2))
		return hes_fail(err, -EINVAL,
				"name one jobs file, or a plan and its jobs; a command comes after "
				"--: heshare run jobs.csv -- ./job.sh {workload} {batch}");
	if (only && !in->of_jobs)
		return hes_fail(err, -EINVAL, "%s: it is for a jobs file; %s is planned already",
				only, args[0]);
	if (n_args > files)
		rc = profile_command_join(n_args - files, args + files, in->template, err);
	if (!rc && n_args > files && o->command)
		rc = hes_fail(err, -EINVAL,
			      "--command: there is a command after --, too; name one");
	in->patterns =
		(struct jobs_file_commands){ o->commands, *in->template ? in->template : o->command,
					     o->progress };
	in->options =
		(struct run_planner_options){ cli_app(),   cli_plan_progress, o->gpus,
					      o->policy,   o->prefer,         o->predictor,
					      o->profiles, o->store,          o->power_cap_w };
	in->planner = (struct run_planner){ .o = &in->options, .catalogue = &in->catalogue };
	return rc || !in->of_jobs ? rc : run_planner_check(&in->planner, err);
}

static int load_inputs(const struct run_opts *o, char **args, const char *jobs, struct inputs *in,
		       struct hes_err *err)
{
	int rc = app_catalogue_load(cli_app(), o->catalogue, true, &in->catalogue, err);

	gethostname(in->host, sizeof(in->host) - 1);
	in->host[strcspn(in->host, ".")] = '\0';
	in->on_nodes =
		!o->node && !o->dry_run &&
		(o->launcher || (slurm_is_job(cli_app()) && slurm_count_nodes(cli_app()) > 1));
	in->user = run_user_behind_sudo(cli_app());
	if (!rc)
		rc = in->of_jobs ? load_jobs_file(o, args[0], in, err)
				 : load_plan(o, args[0], jobs, in, err);
	if (!rc && !o->dry_run)
		rc = run_users_check(&in->jobs, err);
	if (!rc)
		rc = in->on_nodes
			     ? launcher_open(cli_app(), o->launcher, o->program, &in->launcher, err)
			     : open_gpus(o, in, err);
	in->launcher.catalogue = o->catalogue;
	return rc || o->dry_run ? rc : open_run(o, args[0], in, err);
}

static int run_run(const void *opts, int n_args, char **args)
{
	const struct run_opts *o = opts;
	struct inputs in = { 0 };
	struct hes_err err;
	uint64_t log_max;
	int rc;

	if (hes_parse_size("--log-max", o->log_max, &log_max, &err))
		return cli_fail("run", &err), 2;
	if (o->wrap)
		return hes_run_wrap(args[0], n_args > 1 ? args[1] : NULL, log_max);
	if (check_use(o, n_args, args, &in, &err))
		return cli_fail("run", &err), 2;
	rc = load_inputs(o, args, n_args > 1 && o->before != 1 ? args[1] : NULL, &in, &err);
	rc = rc            ? cli_fail("run", &err)
	     : in.on_nodes ? carry_out_on_nodes(o, &in)
			   : carry_out(o, &in);
	unload(&in);
	return rc;
}

const struct command cmd_run = {
	.name = "run",
	.args = "JOBS [-- COMMAND [ARGUMENT]...], or PLAN [JOBS]",
	.min_args = 1,
	.max_args = CLI_MAX_ARGS,
	.before = offsetof(struct run_opts, before),
	.summary = "plan jobs and run them on the GPUs of this machine, or carry out a plan",
	.text = "Runs the jobs of the file JOBS on the GPUs of this machine. A CSV file with the "
		"one "
		"column command is enough: one script a line. What is known of the jobs comes from "
		"the store, then from the networks of the GPU model. heshare plans co-runners, MPS "
		"shares and clocks from it. A job that is unknown runs alone on a free GPU, and is "
		"measured: the next time it is known. heshare plans again when jobs end, are added "
		"(heshare add), differ from the plan, or lose their GPU.\n\n"
		"COMMAND is for jobs without a command of their own, with {workload}, {batch}, "
		"{iterations}, {memory} and {job} in it. If it is one word, the shell runs it; "
		"else "
		"it is a program and its arguments. A script need not be changed. If it prints "
		"\"heshare: N iterations\" from time to time, its progress is known.\n\n"
		"The output of the jobs, the plan and the report are in a folder, JOBS with .run "
		"in "
		"place of .csv. The same file again is a new run. --resume goes on with the last "
		"one, also after a crash: a job that is recorded as done does not run again. At "
		"the "
		"end, measured times and energies are next to the planned ones. The joules of "
		"jobs, "
		"aborted attempts and idle GPUs sum to the GPUs' meters.\n\n"
		"SIGINT, SIGTERM and a closed terminal (SIGHUP) ask the jobs to end; a second "
		"signal kills them. Overnight, start the run in tmux, by nohup or by systemd-run "
		"--user. The guard, a second process, restores clocks and MPS if the run dies. If "
		"the guard is killed too, use heshare restore. Without the right to set clocks, or "
		"without MPS, the run goes on without them and says so.\n\n"
		"A job that fails is tried again --retries times, unless its command was not found "
		"or cannot be executed (exit 127, 126). A job that failed because a co-runner, MPS "
		"or the GPU failed is tried again, and this does not count. A job that exits with "
		"0 "
		"ended early if its progress lines, its time or processes that it left show that "
		"work is missing. It is not tried again; --resume runs it again, --resume "
		"--early-ok accepts it. The exit status is 0 when every job is done, or with "
		"--early-ok ended early.\n\n"
		"With a PLAN of heshare plan, its jobs run as it says. A plan for GPUs of this "
		"machine holds their UUIDs and runs on them; on others only with --other-gpus. "
		"GPUs "
		"of other plans are mapped by type and number. JOBS is needed if the plan has no "
		"jobs in it. With a power cap, a job waits while it might break the cap.",
	.example = "  printf 'command\\n./train-1.sh\\n./train-2.sh --lr 0.1\\n' >scripts.csv\n"
		   "  heshare run scripts.csv\n"
		   "  heshare run scripts.csv --resume\n"
		   "  heshare run jobs.csv -- ./train.sh {workload} {batch} {iterations}\n"
		   "  heshare plan jobs.csv --gpus all -o plan.json; heshare run plan.json",
	.opts = run_opts,
	.opts_size = sizeof(struct run_opts),
	.run = run_run,
};
