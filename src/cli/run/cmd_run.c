/*
 * cmd_run.c - `heshare run`: carry out a plan on the GPUs of this machine and report.
 *
 * src/app/run_begin.h makes the run of the options; here are options, sentences and the call of the
 * runner (heshare/run.h).
 */
#include <errno.h>
#include <limits.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/run_begin.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/plural.h"
#include "base/texts.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/inputs/inputs.h"
#include "app/profile.h"
#include "cli/run/run_shown.h"
#include "cli/run/run_ending.h"
#include "cluster/head.h"
#include "cluster/slurm.h"
#include "launch/wrap.h"

struct run_opts {
	struct app_run_options q;
	int before; /* operands before "--" */
	const char *launcher, *program, *log_max;
	uint64_t retries;
	double explore_pct, timeout_factor, timeout_least_s, grace_s, before_end_s;
	bool wrap, stop_file, no_clocks, no_mps, json, allow_setuid, early_ok;
};

#define AT(member) .offset = offsetof(struct run_opts, member)

/* clang-format off */
static const struct opt run_opts[] = {
	{ .heading = "planning a jobs file",
	  .name = "gpus", .letter = 'g', .kind = OPT_TEXT, AT(q.plan.gpus), .arg = "LIST",
	  .help = "use these GPUs: all, or indices, UUIDs, PCI addresses with commas; without it, "
		  "all that can be used" },
	PREFER_OPT(offsetof(struct run_opts, q.plan.prefer)),
	{ .name = "power-cap", .kind = OPT_DOUBLE, AT(q.plan.power_cap_w), .arg = "W", .max = 1e9,
	  .help = "keep the sum of the power of all GPUs below this, W; 0: no cap" },
	{ .name = "policy", .letter = 'p', .kind = OPT_TEXT, AT(q.plan.policy), .arg = "NAME",
	  .offer = offer_contenders,
	  .help = "policy, as NAME, NAME:PREFERENCE or NAME:VARIANT; without it, joint" },
	{ .name = "explore", .kind = OPT_DOUBLE, AT(explore_pct), .arg = "PCT", .def = "2",
	  .max = 100,
	  .help = "spend at most PCT % of the GPUs' time with jobs on experiments, which find "
		  "clocks and co-runners while jobs work; 0: none" },
	{ .heading = "the run",
	  .name = "dry-run", .kind = OPT_FLAG, AT(q.dry_run),
	  .help = "print every act in order, with planned times, and do nothing" },
	{ .name = "resume", .kind = OPT_FLAG, AT(q.resume),
	  .help = "continue the last run of this plan or jobs file; jobs that are done do not run "
		  "again" },
	{ .name = "resume-if-begun", .kind = OPT_FLAG, AT(q.resume_if_begun),
	  .help = "--resume if this plan or jobs file was run before, else begin" },
	{ .name = "restart", .kind = OPT_FLAG, AT(q.restart), .without = "resume,resume-if-begun",
	  .help = "start again although the last run of this plan or jobs file can be resumed" },
	{ .name = "jobs", .letter = 'j', .kind = OPT_FILE, AT(q.folder), .arg = "DIR",
	  .help = "folder for the output of the jobs and the plan; without it, the name of the "
		  "file with .run in place of .csv or .json" },
	{ .name = "log-max", .kind = OPT_TEXT, AT(log_max), .arg = "SIZE", .def = "1G",
	  .help = "of more output than SIZE (100k, 50M, 2G), an attempt of a job keeps the "
		  "beginning, progress lines and the end; 0: keep all" },
	{ .heading = "commands of jobs",
	  .name = "command", .letter = 'c', .kind = OPT_TEXT, AT(q.commands.pattern),
	  .arg = "PATTERN",
	  .help = "command of jobs without one of their own, with {workload}, {batch}, "
		  "{iterations}, {memory} and {job}" },
	{ .name = "commands", .kind = OPT_FILE, AT(q.commands.list), .arg = "FILE",
	  .help = "CSV file with the columns workload and command: a pattern for each workload" },
	CLI_PROGRESS_OPT(offsetof(struct run_opts, q.commands.progress)),
	{ .name = "allow-setuid", .kind = OPT_FLAG, AT(allow_setuid),
	  .help = "let jobs gain rights by setuid programs such as sudo and ping" },
	{ .name = "node", .kind = OPT_TEXT, AT(q.node), .arg = "NAME",
	  .help = "run only the jobs of this node; without it, those of this machine if the plan "
		  "names it, else all" },
	{ .heading = "several nodes",
	  .name = "launcher", .kind = OPT_TEXT, AT(launcher), .arg = "HOW",
	  .help = "carry out the plan on several nodes: slurm, by srun, as is done in a Slurm job "
		  "of several nodes without this option, or ssh:HOSTFILE" },
	{ .name = "program", .kind = OPT_FILE, AT(program), .arg = "FILE",
	  .help = "heshare on the nodes, if it is not this program's file" },
	{ .name = "predictor", .kind = OPT_FILE, AT(q.plan.predictor), .arg = "FILE",
	  .help = "predictor of heshare train, for jobs of a file, added jobs and what a node "
		  "left; without it, one trained on the store's samples" },
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
	  .def = "600", .max = 1e9, .help = "a job is never ended before this time, seconds" },
	{ .name = "grace", .kind = OPT_DOUBLE, AT(grace_s), .arg = "S", .def = "30", .max = 1e6,
	  .help = "time from asking a job to end until it is killed, seconds" },
	{ .heading = "GPUs",
	  .name = "no-clocks", .kind = OPT_FLAG, AT(no_clocks), .help = "do not set clocks" },
	{ .name = "other-gpus", .kind = OPT_FLAG, AT(q.other_gpus),
	  .help = "let other GPUs of the same types stand for those that the plan was made for and "
		  "that are not here" },
	{ .name = "share-sum", .kind = OPT_U64, AT(q.share_sum), .arg = "PCT", .def = "100",
	  .min = 100, .max = 100 * HES_MAX_SHARING,
	  .help = "for batches: highest sum of the shares on a GPU, %; above 100, jobs slow each "
		  "other more" },
	{ .name = "no-mps", .kind = OPT_FLAG, AT(no_mps),
	  .help = "do not start MPS: jobs that share a GPU take turns" },
	CLI_CATALOGUE_OPT(offsetof(struct run_opts, q.catalogue)),
	{ .heading = "records and report",
	  .name = "profiles", .kind = OPT_FILE, AT(q.plan.profiles), .arg = "FILE",
	  .help = "profiles.csv or its folder, to split joules and to add samples of this run; "
		  "without it, those of the store" },
	{ .name = "store", .kind = OPT_FILE, AT(q.plan.store), .arg = "FILE",
	  .help = "store with the journal of the run; without it " CLI_STORE_PLACE },
	{ .name = "json", .kind = OPT_FLAG, AT(json),
	  .help = "print the report as one JSON document" },
	{ .name = "stop-file", .kind = OPT_FLAG, AT(stop_file), .hidden = true,
	  .help = "internal: a file \"stop\" in the folder stops the run" },
	{ .name = "wrap", .kind = OPT_FLAG, AT(wrap), .hidden = true,
	  .help = "internal: run one job and write down its status" },
	{ 0 }
};
/* clang-format on */

/* A run, and where it is carried out. */
struct inputs {
	struct app_run run;
	struct launcher launcher;
	char template[HES_POINT_COMMAND]; /* COMMAND, for a shell */
};

/* Jobs, GPUs, and how many jobs are known how. */
static void tell_known(const struct app_run *r)
{
	const uint32_t unknown = r->plan.known[HES_KNOWN_UNKNOWN];
	char known[200] = "";

	for (size_t i = 0; i < HES_KNOWN_SOURCES; i++)
		if (r->plan.known[i])
			hes_text_add(known, sizeof(known), ", ", "%" PRIu32 " %s", r->plan.known[i],
				     hes_known_sources[i]);
	fprintf(stderr, "heshare run: %zu job%s on %zu GPU%s%s%s%s\n", r->jobs.n, hes_s(r->jobs.n),
		r->fleet->n, hes_s(r->fleet->n), *known ? ": " : "", known,
		!unknown       ? ""
		: unknown == 1 ? "; it runs alone and is measured"
			       : "; they run alone and are measured");
}

/* @param more  of a run on several nodes; may be NULL. It is used up */
static int tell_report(const struct run_opts *o, struct inputs *in, const struct hes_run_report *r,
		       json_t *more)
{
	struct run_ending e = {
		.catalogue = &in->run.catalogue,
		.jobs = &in->run.jobs,
		.from = { .measured = app_run_measured(&in->run),
			  .known = app_run_profiles(&in->run) },
		.json = o->json,
		.early_ok = o->early_ok,
	};
	struct hes_store_profiling profiling;
	struct hes_run_added *added = NULL;
	struct hes_err why;
	int status = 0;

	if (hes_journal_added(in->run.journal, r->run.id, 0, &added, &e.from.n_added, &why))
		status = cli_fail("run", &why);
	e.from.added = added;
	if (app_run_profiling(&in->run, &profiling, &why))
		status = cli_fail("run", &why);
	else
		e.profiling = &profiling;
	status |= run_ending_tell(&e, r, more);
	hes_run_added_free(added, e.from.n_added);
	return status;
}

/* When to stop because of the time limit of a Slurm job, by the monotonic clock; 0: never. A head
 * stops its runners. */
static double stop_time(const struct run_opts *o)
{
	const double left_s = o->q.dry_run || o->stop_file ? -1 : slurm_seconds_left(cli_app()),
		     now_s = hes_monotonic_s();

	return left_s < 0 ? 0 : left_s > o->before_end_s ? now_s + left_s - o->before_end_s : now_s;
}

/* Options that go on to the runners. @return what holds their values; free() it */
static char *runner_args(const struct run_opts *o, const char **out)
{
	char *values = calloc(6, 64);
	size_t n = 0;

	if (!values)
		return NULL;
	snprintf(values, 64, "--retries=%llu", (unsigned long long)o->retries);
	snprintf(values + 64, 64, "--share-sum=%llu", (unsigned long long)o->q.share_sum);
	snprintf(values + 128, 64, "--timeout-factor=%.17g", o->timeout_factor);
	snprintf(values + 192, 64, "--timeout-least=%.17g", o->timeout_least_s);
	snprintf(values + 256, 64, "--grace=%.17g", o->grace_s);
	snprintf(values + 320, 64, "--explore=%.17g", o->explore_pct);
	for (size_t i = 0; i < 6; i++)
		out[n++] = values + 64 * i;
	if (o->no_clocks)
		out[n++] = "--no-clocks";
	if (o->no_mps)
		out[n++] = "--no-mps";
	if (o->allow_setuid)
		out[n++] = "--allow-setuid";
	if (o->early_ok)
		out[n++] = "--early-ok";
	if (o->q.catalogue) {
		out[n++] = "--catalogue";
		out[n++] = o->q.catalogue;
	}
	if (o->q.plan.profiles) {
		out[n++] = "--profiles";
		out[n++] = o->q.plan.profiles;
	}
	out[n++] = "--log-max";
	out[n++] = o->log_max;
	out[n] = NULL;
	return values;
}

static int carry_out_on_nodes(const struct run_opts *o, struct inputs *in, struct hes_err *err)
{
	const char *args[18];
	char *values = runner_args(o, args);
	const struct head_request q = {
		.launcher = &in->launcher,
		.catalogue = &in->run.catalogue,
		.plan = &in->run.plan,
		.fleet = in->run.fleet,
		.jobs = &in->run.jobs,
		.user = in->run.user,
		.store = in->run.store,
		.journal = in->run.journal,
		.predictor = o->q.plan.predictor,
		.profiles = o->q.plan.profiles,
		.runner_args = args,
		.stop_s = stop_time(o),
		.early_ok = o->early_ok,
		.listener = { .message = run_show_message, .progress = run_show_progress },
	};
	struct hes_run_report report = { 0 };
	json_t *nodes = NULL;
	int rc;

	run_keep_stops();
	rc = values ? head_run(&q, &in->run.run, &report, &nodes, err)
		    : hes_fail(err, -ENOMEM, "out of memory");
	free(values);
	if (rc)
		return rc;
	rc = tell_report(o, in, &report, nodes);
	hes_run_report_free(&report);
	return rc;
}

/* Acts have lines of a shell: they are not parted. */
static int rehearse(struct hes_run_request *q, struct hes_err *err)
{
	struct table acts = { 0 };
	int rc;

	q->listener = (struct hes_run_listener){ .message = run_show_rehearsal,
						 .act = run_show_act,
						 .ctx = &acts };
	rc = hes_run_rehearse(q, err);
	table_print(&acts, stdout, 0, INT_MAX);
	return rc;
}

static int carry_out(const struct run_opts *o, struct inputs *in, struct hes_err *err)
{
	struct hes_run_request q = {
		.retries = (unsigned)o->retries,
		.explore_pct = o->explore_pct,
		.early_ok = o->early_ok,
		.timeout_factor = o->timeout_factor,
		.timeout_least_us = (int64_t)(o->timeout_least_s * 1e6),
		.grace_us = (int64_t)(o->grace_s * 1e6),
		.no_clocks = o->no_clocks,
		.no_mps = o->no_mps,
		.allow_setuid = o->allow_setuid,
		.stop_s = stop_time(o),
		.takes_stop_file = o->stop_file,
		.listener = { .message = run_show_message, .progress = run_show_progress },
	};
	struct hes_run_report report = { 0 };
	int rc;

	app_run_request(&in->run, &q);
	if (o->q.dry_run)
		return rehearse(&q, err);
	rc = run_carry_out(&q, o->log_max, in->run.journal, &in->run.run, &report, err);
	if (rc)
		return rc;
	rc = tell_report(o, in, &report, NULL);
	hes_run_report_free(&report);
	return rc;
}

/* @return 0; -EINVAL, -ENOENT wrong usage */
static int check_use(struct run_opts *o, int n_args, char **args, struct inputs *in,
		     struct hes_err *err)
{
	const int files = o->before < 0 ? n_args : o->before;
	struct app_run_options *q = &o->q;
	int rc = o->launcher ? launcher_check(o->launcher, err) : 0;

	if (!rc && (files < 1 || files > 2))
		rc = hes_fail(err, -EINVAL,
			      "name one jobs file, or a plan and its jobs; a command comes after "
			      "--: heshare run jobs.csv -- ./job.sh {workload} {batch}");
	if (!rc && n_args > files)
		rc = profile_command_join(n_args - files, args + files, in->template, err);
	if (!rc && n_args > files && q->commands.pattern)
		rc = hes_fail(err, -EINVAL,
			      "--command: there is a command after --, too; name one");
	if (rc)
		return rc;
	q->plan.app = cli_app();
	q->plan.seed = 1;
	q->plan.of_run = true;
	q->plan.progress = cli_plan_progress;
	q->file = args[0];
	q->jobs = files > 1 ? args[1] : NULL;
	q->commands.pattern = n_args > files ? in->template : q->commands.pattern;
	q->of_round = o->stop_file && q->node;
	q->on_nodes =
		!q->node && !q->dry_run &&
		(o->launcher || (slurm_is_job(cli_app()) && slurm_count_nodes(cli_app()) > 1));
	return app_run_check(&in->run, q, err);
}

static int begin(const struct run_opts *o, struct inputs *in, struct hes_err *err)
{
	int rc = app_run_load(&in->run, err);

	if (!rc && in->run.of_jobs && !in->run.run.id)
		tell_known(&in->run);
	if (!rc && o->q.on_nodes)
		rc = launcher_open(cli_app(), o->launcher, o->program, &in->launcher, err);
	in->launcher.catalogue = o->q.catalogue;
	return rc || o->q.dry_run ? rc : app_run_open(&in->run, err);
}

static int run_run(const struct call *call, struct hes_err *err)
{
	struct run_opts *o = call->opts;
	struct inputs in = { 0 };
	uint64_t log_max;
	int rc;

	if (hes_parse_size("--log-max", o->log_max, &log_max, err))
		return OPT_USAGE;
	if (o->wrap)
		return hes_launch_wrap(call->args[0], call->args[1], log_max);
	if (check_use(o, call->n, call->args, &in, err))
		return OPT_USAGE;
	rc = begin(o, &in, err);
	if (!rc)
		rc = o->q.on_nodes ? carry_out_on_nodes(o, &in, err) : carry_out(o, &in, err);
	launcher_close(&in.launcher);
	app_run_close(&in.run);
	return rc;
}

const struct command cmd_run = {
	.name = "run",
	.args = "JOBS [-- COMMAND [ARGUMENT]...], or PLAN [JOBS]",
	.min_args = 1,
	.max_args = CLI_MAX_ARGS,
	.before = offsetof(struct run_opts, before),
	.summary = "plan jobs and run them on this machine, or carry out a plan",
	.text = "Runs the jobs of the file JOBS on the GPUs of this machine. A CSV file with the "
		"one column command is enough: one script a line. What is known of the jobs comes "
		"from the store, then from the networks of the GPU model. heshare plans "
		"co-runners, MPS shares and clocks from it. A job that is unknown runs alone on a "
		"free GPU, and is measured: the next time it is known. Its clock is found while it "
		"works, and so is who may run next to it. Jobs that do worse together than in "
		"turns are separated. Where a job has a floor (column keep), the others are held "
		"while it is slower. heshare plans again when jobs end, are added (heshare add), "
		"differ from the plan, or lose their GPU.\n\n"
		"COMMAND is for jobs without a command of their own, with {workload}, {batch}, "
		"{iterations}, {memory} and {job} in it. If it is one word, the shell runs it; "
		"else it is a program and its arguments. A script need not be changed. If it "
		"prints \"heshare: N iterations\" from time to time, its progress is known.\n\n"
		"The output of the jobs, the plan and the report are in a folder, JOBS with .run "
		"in place of .csv. The same file again is a new run. --resume goes on with the "
		"last one, also after a crash: a job that is recorded as done does not run again. "
		"At the end, measured times and energies are next to the planned ones. The joules "
		"of jobs, aborted attempts and idle GPUs sum to the GPUs' meters.\n\n"
		"SIGINT, SIGTERM and a closed terminal (SIGHUP) ask the jobs to end; a second "
		"signal kills them. Overnight, start the run in tmux, by nohup or by systemd-run "
		"--user. The guard, a second process, restores clocks and MPS if the run dies. If "
		"the guard is killed too, use heshare restore. Without the right to set clocks, or "
		"without MPS, the run goes on without them and says so.\n\n"
		"A job that fails is tried again --retries times, unless its command was not found "
		"or cannot be executed (exit 127, 126). A job that failed because a co-runner, MPS "
		"or the GPU failed is tried again, and this does not count. A job that exits with "
		"0 ended early if its progress lines, its time or processes that it left show that "
		"work is missing. It is not tried again; --resume runs it again, --resume "
		"--early-ok accepts it. The exit status is 0 when every job is done, or with "
		"--early-ok ended early.\n\n"
		"With a PLAN of heshare plan, its jobs run as it says. A plan for GPUs of this "
		"machine holds their UUIDs and runs on them; on others only with --other-gpus. "
		"GPUs of other plans are mapped by type and number. JOBS is needed if the plan has "
		"no jobs in it. With a power cap, a job waits while it might break the cap.",
	.example = "  printf 'command\\n./train-1.sh\\n./train-2.sh --lr 0.1\\n' >scripts.csv\n"
		   "  heshare run scripts.csv\n"
		   "  heshare run scripts.csv --resume\n"
		   "  heshare run jobs.csv -- ./train.sh {workload} {batch} {iterations}\n"
		   "  heshare plan jobs.csv --gpus all -o plan.json; heshare run plan.json",
	.opts = run_opts,
	.opts_size = sizeof(struct run_opts),
	.run = run_run,
};
