/*
 * cmd_profile.c - `heshare profile`: its options, progress and result.
 * src/app/profile_gpus.c measures, profile_gpus.c draws from the GPU model.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/catalogue.h"
#include "app/profile.h"
#include "base/clock.h"
#include "base/plural.h"
#include "base/signals.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/inputs/inputs.h"
#include "cli/run/run_shown.h"
#include "cli/terminal.h"
#include "heshare/draw.h"

#define MAX_ARGS 4096

struct profile_opts {
	struct profile_request q;
	bool modelled, dry_run, json;
};

#define AT(member) .offset = offsetof(struct profile_opts, member)

/* clang-format off */
static const struct opt profile_opts[] = {
	{ .heading = "what to measure",
	  .name = "gpus", .letter = 'g', .kind = OPT_TEXT, AT(q.gpus), .arg = "LIST",
	  .without = "modelled",
	  .help = "measure on these GPUs: all, or indices, UUIDs, PCI addresses with commas; "
		  "without it, all" },
	CLI_CATALOGUE_OPT(offsetof(struct profile_opts, q.catalogue)),
	{ .name = "batch", .letter = 'b', .kind = OPT_TEXT, AT(q.batch), .arg = "LIST", .def = "1",
	  .without = "modelled",
	  .help = "batch sizes of NAME, such as 8 or 1,8,64; {batch} in COMMAND" },
	{ .name = "shares", .kind = OPT_TEXT, AT(q.shares), .arg = "LIST", .def = "10..100",
	  .without = "modelled",
	  .help = "SM shares in %, such as 30,60 or 10..100 (steps of 10) or 10..100:5" },
	{ .name = "clocks", .kind = OPT_TEXT, AT(q.clocks), .arg = "LIST", .def = "auto",
	  .without = "modelled",
	  .help = "SM clocks in MHz, such as 900,1200; auto: those of the GPU type; the word "
		  "default: do not lock" },
	{ .name = "co-runners", .kind = OPT_TEXT, AT(q.co_runners), .arg = "LIST",
	  .without = "modelled,jobs",
	  .help = "also run with these co-runners: NAME/BATCH,..., profiled before; a+b: both at "
		  "once; or NAME/BATCH=COMMAND. Such as bert/8,vgg/4+bert/8" },
	{ .name = "jobs", .letter = 'j', .kind = OPT_FILE, AT(q.jobs), .arg = "FILE",
	  .without = "modelled",
	  .help = "profile the workloads and batch sizes of these jobs, alone and in random co-run "
		  "sets, instead of NAME" },
	{ .name = "samples", .kind = OPT_U64, AT(q.samples), .arg = "N", .def = "1000",
	  .max = HES_DRAW_MAX_SAMPLES, .with = "jobs,modelled",
	  .help = "with --jobs: number of points of jobs that share a GPU, divided between the GPU "
		  "types; with --modelled: number of samples; 0: jobs alone" },
	{ .name = "most", .kind = OPT_U64, AT(q.most), .arg = "N", .def = "4", .min = 2,
	  .max = HES_MAX_SHARING, .with = "jobs",
	  .help = "with --jobs: most jobs on a GPU at a time" },
	{ .name = "seed", .letter = 's', .kind = OPT_U64, AT(q.seed), .arg = "S", .def = "1",
	  .max = 0x1p64, .with = "jobs,modelled",
	  .help = "with --jobs or --modelled: seed of the random choices and of the noise" },
	{ .heading = "how to measure",
	  .name = "iterations", .letter = 'n', .kind = OPT_U64, AT(q.iterations), .arg = "N",
	  .def = "0", .max = 1e12, .without = "modelled,progress",
	  .help = "iterations of one run of COMMAND, if it does not print its progress" },
	CLI_PROGRESS_OPT(offsetof(struct profile_opts, q.pattern)),
	{ .name = "warm-up", .kind = OPT_DOUBLE, AT(q.warm_up_s), .arg = "S", .def = "2",
	  .max = 86400, .without = "modelled",
	  .help = "wait after a job has joined, seconds; half of it after a change of the clock" },
	{ .name = "window", .letter = 'w', .kind = OPT_DOUBLE, AT(q.window_s), .arg = "S",
	  .def = "2", .min = 0.1, .max = 86400, .without = "modelled",
	  .help = "length of one measurement, seconds" },
	{ .name = "repeats", .kind = OPT_TEXT, AT(q.repeats), .arg = "A..B", .def = "3..10",
	  .without = "modelled", .help = "measure a point at least A times and at most B times" },
	{ .name = "error", .kind = OPT_DOUBLE, AT(q.error_pct), .arg = "PCT", .def = "3",
	  .min = 0.01, .max = 100, .without = "modelled",
	  .help = "a point ends when the standard errors of all times and of power are below this, "
		  "%; see docs/profiling.md" },
	{ .name = "patience", .kind = OPT_DOUBLE, AT(q.patience_s), .arg = "S", .def = "120",
	  .min = 1, .max = 1e6, .without = "modelled",
	  .help = "a job without progress for this time has failed, seconds" },
	{ .name = "ahead", .kind = OPT_U64, AT(q.ahead), .arg = "N", .def = "16",
	  .max = HES_PROFILER_AHEAD,
	  .help = "most processes of a GPU that start while others are measured, or wait stopped "
		  "for their turn; 0: each starts at its turn" },
	{ .heading = "run and results",
	  .name = "minutes", .letter = 'm', .kind = OPT_DOUBLE, AT(q.minutes), .arg = "MIN",
	  .def = "0", .max = 1e6, .without = "modelled",
	  .help = "stop after this time; the same command continues later; 0: no limit" },
	{ .name = "dry-run", .kind = OPT_FLAG, AT(dry_run), .without = "modelled",
	  .help = "print how many points and how much time it takes, measure nothing" },
	{ .name = "store", .kind = OPT_FILE, AT(q.store), .arg = "FILE",
	  .help = "the store; without it " CLI_STORE_PLACE ". With --modelled: add the rows to it, "
		  "marked as modelled" },
	{ .name = "json", .kind = OPT_FLAG, AT(json),
	  .help = "print the result as one JSON document" },
	{ .heading = "without a GPU",
	  .name = "modelled", .alone = true, .kind = OPT_FLAG, AT(modelled),
	  .help = "draw from the GPU model; needs no GPU" },
	{ .name = "output", .letter = 'o', .kind = OPT_FILE, AT(q.folder), .arg = "DIR",
	  .help = "with --modelled: write profiles.csv and samples.csv into this folder" },
	{ .name = "types", .kind = OPT_TEXT, AT(q.types), .arg = "LIST",
	  .def = "T4,V100-SXM2-32,A100-SXM-80", .offer = offer_gpu_types, .many = true,
	  .with = "modelled", .help = "with --modelled: GPU types, with commas" },
	{ .name = "fleet", .letter = 'f', .kind = OPT_FILE, AT(q.fleet), .arg = "FILE",
	  .with = "modelled", .help = "with --modelled: the GPU types of this fleet instead" },
	{ .name = "noise", .kind = OPT_DOUBLE, AT(q.noise_pct), .arg = "PCT", .def = "1.7",
	  .max = 50, .with = "modelled",
	  .help = "with --modelled: variation of a measurement from run to run, %" },
	{ .name = "physics", .with = "modelled", .kind = OPT_FILE, AT(q.physics), .arg = "FILE",
	  .help = "with --modelled: parameters of the GPU model, or " APP_SECOND_PHYSICS
		  " for other equations" },
	{ 0 }
};
/* clang-format on */

/* Set by a signal; read by every thread. */
static volatile sig_atomic_t interrupted;

static void interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

static bool stop(void *ctx)
{
	(void)ctx;
	return interrupted;
}

#define LOG_LINE_S 60 /* between lines of progress that no terminal shows */

/* The line of progress. */
struct shown {
	bool in_line;  /* it has no end yet */
	double line_s; /* when a line was last written, no terminal */
};

/* After Ctrl-C the terminal has ^C in the line: keep it and end it. */
static void leave_line(struct shown *b)
{
	if (b->in_line)
		fputs(interrupted ? "\n" : "\r\033[K", stderr);
	b->in_line = false;
}

static void report_progress(void *ctx, const struct hes_profile_progress *t)
{
	struct shown *b = ctx;
	const bool terminal = terminal_is_live(STDERR_FILENO);
	const double now_s = hes_monotonic_s();
	char left[HES_QUANTITY_MAX];

	if (t->note || interrupted)
		leave_line(b);
	if (t->note)
		cli_say("profile", t->note);
	if (interrupted || (!terminal && now_s < b->line_s + LOG_LINE_S))
		return;
	fprintf(stderr, "%spoint %zu of %zu, ", terminal ? "\r" : "", t->points, t->all);
	if (t->left_s < 0)
		fputs("time left unknown yet", stderr);
	else
		fprintf(stderr, "about %s left", cli_rough_time(left, t->left_s * 1e6));
	fputs(terminal ? "\033[K" : "\n", stderr);
	b->line_s = now_s;
	b->in_line = terminal;
	if (t->points == t->all)
		leave_line(b);
}

static int print_result(const struct profile_opts *o, const struct profile_session *s,
			const struct hes_profiled_result *r, const struct hes_delivered *d)
{
	char text[CLI_PROFILING_MAX];

	if (o->json)
		return cli_print_json(
			"heshare-profile",
			json_pack(
				"{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:I, s:I, s:I, s:o, "
				"s:o}",
				"measured", (json_int_t)r->measured, "known", (json_int_t)r->known,
				"failed", (json_int_t)r->failed, "left", (json_int_t)r->left,
				"uncertain", (json_int_t)r->uncertain, "starts",
				(json_int_t)r->starts, "ahead", (json_int_t)r->ahead, "stopped",
				r->stopped, "clocks_refused", r->clocks_refused, "points",
				(json_int_t)s->points_new, "profiles", (json_int_t)d->profiles_new,
				"samples", (json_int_t)d->samples_new, "gpu_s",
				cli_json_maybe(isfinite(r->cost.gpu_s), r->cost.gpu_s), "energy_j",
				cli_json_maybe(isfinite(r->cost.energy_j), r->cost.energy_j)));
	printf("points: %zu measured, %zu known before, %zu failed", r->measured, r->known,
	       r->failed);
	if (r->uncertain)
		printf(", %zu of those measured with a standard error above %g %%", r->uncertain,
		       o->q.error_pct);
	printf("\nprofiles: %zu new, %zu known; samples: %zu new, one for each job of a point\n",
	       d->profiles_new, d->profiles_known, d->samples_new);
	if (r->cost.gpu_s > 0)
		printf("profiling: %s\n", cli_profiling_text(text, &r->cost));
	return 0;
}

static void watch_signals(void)
{
	struct sigaction act = { .sa_handler = interrupt };

	sigemptyset(&act.sa_mask);
	for (const int *sig = hes_signals_stop; *sig; sig++)
		if (!hes_signals_ignored(*sig))
			sigaction(*sig, &act, NULL);
}

static int dry_run(struct profile_session *s, struct hes_err *err)
{
	struct hes_profile_work w;
	double minutes;
	int rc = 0;

	for (size_t k = 0; k < s->n_types && !rc; k++) {
		rc = profile_estimate(s, k, &w, &minutes, err);
		if (rc)
			break;
		printf("%s: %zu point%s, at most %zu start%s of a job, at least %.0f min of one "
		       "GPU",
		       s->sequences[k].type->name, w.points, hes_s(w.points), w.starts,
		       hes_s(w.starts), minutes);
		if (w.known)
			printf("; known: %zu", w.known);
		putchar('\n');
	}
	return rc;
}

static int measure(const struct profile_opts *o, struct profile_session *s, struct hes_err *err)
{
	struct hes_profiled_result r = { 0 };
	struct hes_delivered d = { 0 };
	int rc;

	run_clear_environment();
	watch_signals();
	rc = profile_run(s, &r, &d, err);
	leave_line(o->q.ctx);
	if (rc)
		return rc;
	rc = print_result(o, s, &r, &d);
	if (r.left)
		fprintf(stderr,
			"heshare profile: %s, %zu point%s left; the same command goes on from "
			"here\n",
			r.stopped ? "stopped early" : "GPUs were given up or have no MPS", r.left,
			hes_s(r.left));
	return rc ? rc : r.left || r.failed;
}

static int profile_gpus(const struct profile_opts *o, struct hes_err *err)
{
	struct profile_session s;
	int rc = profile_open(&o->q, &s, err);

	if (!rc)
		rc = o->dry_run ? dry_run(&s, err) : measure(o, &s, err);
	profile_close(&s);
	return rc;
}

static int profile_modelled(const struct profile_opts *o, struct hes_err *err)
{
	struct profile_drawn d;
	int rc = profile_draw(&o->q, &d, err);

	if (rc)
		return rc;
	if (o->q.folder)
		fprintf(stderr, "%s/profiles.csv: %zu profile%s; %s/samples.csv: %zu sample%s\n",
			o->q.folder, d.profiles, hes_s(d.profiles), o->q.folder, d.samples,
			hes_s(d.samples));
	if (o->q.store)
		fprintf(stderr, "%s: profiles: %zu new, %zu known; samples: %zu new, %zu known\n",
			o->q.store, d.stored.profiles_new, d.stored.profiles_known,
			d.stored.samples_new, d.stored.samples_known);
	return 0;
}

/* What is wrong with the options together; NULL: nothing. */
static const char *misuse(const struct profile_opts *o, int n_args)
{
	if (o->modelled && !o->q.samples)
		return "--samples 0 is of --jobs; --modelled draws 1 at least";
	if (o->modelled)
		return o->q.folder || o->q.store
			       ? NULL
			       : "-o DIR is needed, the folder for profiles.csv and "
				 "samples.csv, or --store FILE";
	if (o->q.folder)
		return "-o is of --modelled; what is measured goes into the store (heshare "
		       "profiles export)";
	return n_args >= 2 || o->q.jobs
		       ? NULL
		       : "NAME -- COMMAND is needed, or --jobs FILE, or --modelled; see "
			 "heshare profile --help";
}

static int run_profile(const struct call *call, struct hes_err *err)
{
	static const char *const guard[] = { "/proc/self/exe", "restore", "--guard", NULL };
	struct profile_opts *o = call->opts;
	const char *wrong = misuse(o, call->n);
	struct shown shown = { .line_s = hes_monotonic_s() };
	int rc;

	if (wrong)
		return opt_usage(err, wrong);
	rc = profile_check(&o->q, err);
	if (rc)
		return rc;
	o->q.app = cli_app();
	o->q.progress = cli_progress;
	o->q.guard = guard;
	o->q.report = report_progress;
	o->q.stop = stop;
	o->q.ctx = &shown;
	o->q.args = call->args;
	o->q.n_args = call->n;
	return o->modelled ? profile_modelled(o, err) : profile_gpus(o, err);
}

const struct command cmd_profile = {
	.name = "profile",
	.args = "[NAME] [-- COMMAND [ARGUMENT]...]",
	.max_args = MAX_ARGS,
	.summary = "profile workloads alone and sharing a GPU",
	.text = "Measures a workload: runs COMMAND, called NAME in the store, on the GPUs of this "
		"machine at every SM share and clock. It runs alone, and with the jobs of "
		"--co-runners. The store keeps the time of an iteration, power, clock, and the "
		"activity of SMs and memory. GPUs of one type divide the work.\n\n"
		"COMMAND must print \"heshare: N iterations\" from time to time, with N counted "
		"from its start. If it does not, give --iterations. It is started again when it "
		"ends, and stopped after the measurement. If COMMAND is one word, the shell runs "
		"it; else it is a program and its arguments. {workload}, {batch} and {iterations} "
		"are replaced, the last by --iterations or 1000000000.\n\n"
		"A point is a co-run set on one GPU at one clock. Points that are in the store are "
		"skipped, so a profile that was stopped, by Ctrl-C or a closed terminal, continues "
		"with the same command. Overnight, start it in tmux, by nohup or by systemd-run "
		"--user. Clocks and MPS are restored by the guard, a second process. If it is "
		"killed too, use heshare restore.\n\n"
		"With --jobs: profiles the jobs of FILE, with their own commands or with COMMAND. "
		"Each runs alone on a whole GPU, then random ones share a GPU until there are "
		"--samples of them. heshare plan learns from these.\n\n"
		"With --modelled: draws profiles and samples from the GPU model, with measurement "
		"noise. Writes DIR/profiles.csv, every workload alone at batch sizes 1 to 64, and "
		"DIR/samples.csv, random workloads with random co-runners. See docs/gpu-model.md.",
	.example = "  heshare profile resnet50 --batch 1,8,64 -- python3 serve.py --batch {batch}\n"
		   "  heshare profile bert --shares 30..90:30 --co-runners resnet50/8 -- python3 "
		   "bert.py\n"
		   "  heshare profile --jobs jobs.csv --samples 500\n"
		   "  heshare profile --modelled -o profiles",
	.opts = profile_opts,
	.opts_size = sizeof(struct profile_opts),
	.run = run_profile,
};
