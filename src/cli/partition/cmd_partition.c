/*
 * cmd_partition.c - `heshare partition`: find the split of a GPU's SMs between jobs, and the jobs
 * that should share a GPU.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/inputs/inputs.h"
#include "cli/partition/split_out.h"
#include "cli/run/run_shown.h"
#include "cli/terminal.h"

#define LOG_MAX "1G"

struct partition_opts {
	struct partition_request q;
	const char *objective, *logs;
	double for_s;
	bool all, json, run;
	int n_jobs; /* operands before "--"; -1: there is no "--" */
};

#define AT(member) .offset = offsetof(struct partition_opts, member)

/* clang-format off */
static const struct opt partition_opts[] = {
	{ .heading = "one GPU",
	  .name = "gpu", .without = "jobs", .letter = 'g', .kind = OPT_TEXT, AT(q.gpu),
	  .arg = "TYPE|INDEX", .offer = offer_gpu_types,
	  .help = "GPU type, or index of a GPU of this machine; without it, the type that all jobs "
		  "were profiled on, V100-SXM2-32 with --modelled" },
	CLI_CATALOGUE_OPT(offsetof(struct partition_opts, q.catalogue)),
	{ .name = "objective", .kind = OPT_CHOICE, AT(objective), .arg = "WHAT",
	  .choices = hes_partition_objectives,
	  .help = "what to maximise for each watt; without it normalized, with --jobs energy" },
	{ .name = "floor", .kind = OPT_TEXT, AT(q.floor), .arg = "LIST",
	  .help = "least throughput of a job, as a part of its throughput alone: B=0.5, with "
		  "commas; or 0.3 for all" },
	{ .name = "step", .kind = OPT_U64, AT(q.step), .arg = "PCT", .def = "10", .min = 1,
	  .max = 50, .help = "shares are multiples of this, %" },
	{ .name = "clocks", .without = "jobs", .kind = OPT_TEXT, AT(q.clocks), .arg = "LIST",
	  .def = "default",
	  .help = "clocks to choose from in MHz, such as 900,1200; default: the default clock; "
		  "all: every profiled clock" },
	{ .name = "split", .without = "jobs", .kind = OPT_TEXT, AT(q.split), .arg = "LIST",
	  .help = "also predict this split, such as 30,70: % of the SMs in the order of the jobs" },
	{ .heading = "carry it out",
	  .name = "run", .kind = OPT_FLAG, AT(run),
	  .help = "with --gpu INDEX: run the jobs with the best split, or that of --split, measure "
		  "and compare with the prediction" },
	{ .name = "for", .with = "run", .kind = OPT_DOUBLE, AT(for_s), .arg = "S", .def = "0",
	  .max = 1e9,
	  .help = "with --run: end the jobs after this time, seconds; 0: wait until they end, or "
		  "for Ctrl-C" },
	{ .name = "logs", .with = "run", .kind = OPT_FILE, AT(logs), .arg = "DIR",
	  .help = "with --run: folder for the output of the jobs; without it, partition.run" },
	{ .heading = "output",
	  .name = "all", .without = "jobs", .kind = OPT_FLAG, AT(all),
	  .help = "print every split" },
	{ .name = "json", .kind = OPT_FLAG, AT(json), .help = "print one JSON document" },
	{ .heading = "a fleet",
	  .name = "jobs", .alone = true, .letter = 'j', .kind = OPT_FILE, AT(q.jobs), .arg = "FILE",
	  .help = "put these jobs on the GPUs of a fleet, instead of JOB JOB" },
	{ .name = "fleet", .with = "jobs", .letter = 'f', .kind = OPT_FILE, AT(q.fleet),
	  .arg = "FILE",
	  .help = "with --jobs: fleet file; without it, the eight GPUs of the HeShare paper" },
	{ .name = "most", .with = "jobs", .kind = OPT_U64, AT(q.most), .arg = "N", .def = "2",
	  .min = 1, .max = HES_PARTITION_MAX_JOBS,
	  .help = "with --jobs: most jobs on one GPU at a time" },
	{ .name = "effort", .with = "jobs", .kind = OPT_U64, AT(q.effort), .arg = "N", .def = "0",
	  .max = 1e12,
	  .help = "with --jobs: number of groups to try; 0: 50000, plus 700 for each job" },
	{ .name = "seed", .with = "jobs", .letter = 's', .kind = OPT_U64, AT(q.seed), .arg = "S",
	  .def = "1", .max = 0x1p64, .help = "with --jobs: seed of the search" },
	{ .heading = "predictions",
	  .name = "store", .without = "points,modelled", .kind = OPT_FILE, AT(q.from.store),
	  .arg = "FILE",
	  .help = "store with measured points; without it " CLI_STORE_PLACE },
	{ .name = "points", .without = "modelled", .kind = OPT_FILE, AT(q.from.points),
	  .arg = "FILE",
	  .help = "points.csv or its folder, from heshare profiles export, instead of the store" },
	{ .name = "modelled", .kind = OPT_FLAG, AT(q.from.modelled),
	  .help = "draw points from the GPU model; needs no GPU" },
	{ 0 }
};
/* clang-format on */

/* Index of a word in a list that ends with NULL. */
static int word_index(const char *word, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (strcmp(word, words[i]) == 0)
			return i;
	return 0; /* the table of options lets no other word through */
}

static void show_message(void *ctx, const char *sentence)
{
	(void)ctx;
	run_show_message("partition", sentence);
}

/* Iterations of each job, as the runner published them a second ago. */
static void show_progress(void *ctx, const struct hes_run_progress *p)
{
	const struct partition_run *r = ctx;
	char since[HES_QUANTITY_MAX], left[HES_QUANTITY_MAX];
	struct hes_run_live live;

	if (!terminal_is_live(STDERR_FILENO) || hes_run_live_load(&r->run, &live, NULL))
		return;
	fputc('\r', stderr);
	for (size_t i = 0; i < live.n_jobs; i++)
		fprintf(stderr, "%s %llu, ", live.jobs[i].job,
			(unsigned long long)live.jobs[i].iterations);
	if (live.n_gpus && live.gpus[0].has_power)
		fprintf(stderr, "%.0f W; ", live.gpus[0].power_w);
	fputs(cli_rough_time(since, (double)p->now_us), stderr);
	if (p->left_us)
		fprintf(stderr, ", about %s left", cli_rough_time(left, (double)p->left_us));
	fputs("\033[K", stderr);
	fflush(stderr);
	hes_run_live_free(&live);
}

/* @param status  1 when a job failed; set on success */
static int run_jobs(const struct partition_opts *o, const struct partition_run_request *q,
		    int *status, struct hes_err *err)
{
	struct hes_run_report report = { 0 };
	struct partition_run r;
	json_t *doc;
	int rc = partition_run_open(q, &r, err);

	fflush(stdout);
	if (!rc) {
		r.request.listener = (struct hes_run_listener){ .ctx = &r,
								.message = show_message,
								.progress = show_progress };
		rc = run_carry_out(&r.request, LOG_MAX, r.journal, &r.run, &report, err);
		run_clear_line();
	}
	if (!rc && !o->json) {
		partition_run_print(&r, &report);
		*status = report.done < report.n_jobs;
	} else if (!rc) {
		doc = partition_json(q->a);
		if (doc)
			json_object_set_new(doc, "run", partition_run_json(&r, &report));
		*status = cli_print_json("heshare-partition", doc) || report.done < report.n_jobs;
	}
	hes_run_report_free(&report);
	partition_run_close(&r);
	return rc;
}

/* @param lines  commands of --run; NULL: those that were profiled. @return exit status; -errno */
static int tell_split(const struct partition_opts *o, const struct partition_answer *a,
		      const struct hes_catalogue *c, char *const *lines, struct hes_err *err)
{
	const struct partition_run_request run = { .p = &o->q,
						   .a = a,
						   .catalogue = c,
						   .commands = lines,
						   .logs = o->logs,
						   .for_s = o->for_s };
	int status = 0, rc = 0;

	if (!o->json)
		rc = partition_print(a, o->all, !o->run, err);
	else if (!o->run || !partition_chosen(a))
		status = cli_print_json("heshare-partition", partition_json(a));
	if (!rc && o->run)
		rc = run_jobs(o, &run, &status, err);
	return rc ? rc : status;
}

static int run_split(const struct partition_opts *o, const struct partition_name *jobs, size_t n,
		     char *const *lines, struct hes_err *err)
{
	struct partition_inputs in = { .modelled = false };
	struct hes_device_info info = { .uuid = "" };
	struct partition_answer a;
	int rc = partition_answer(&o->q, jobs, n, &in, &info, &a, err);

	if (!rc)
		rc = tell_split(o, &a, &in.catalogue, lines, err);
	partition_answer_free(&a);
	partition_inputs_free(&in);
	return rc;
}

static int run_fleet(const struct partition_opts *o, struct hes_err *err)
{
	struct partition_fleet f;
	int rc = partition_fleet(&o->q, &f, err);

	if (!rc && o->json)
		rc = cli_print_json("heshare-partition-fleet", partition_fleet_json(&f));
	else if (!rc)
		partition_fleet_print(&f);
	partition_fleet_free(&f);
	return rc;
}

/* What is wrong with the options together; NULL: nothing. */
static const char *misuse(const struct partition_opts *o, int n_args)
{
	const int n_jobs = o->n_jobs < 0 ? n_args : o->n_jobs;

	if (!o->run && o->n_jobs >= 0)
		return "commands after -- go with --run";
	if (o->run && (o->q.jobs || !partition_is_index(o->q.gpu)))
		return "--run carries the split of one GPU out: name the GPU of this machine by "
		       "--gpu INDEX";
	if (o->n_jobs >= 0 && n_args != 2 * n_jobs)
		return "as many commands as jobs are needed after --, each in quotes";
	if (!o->q.jobs && n_jobs < 2)
		return "two jobs or more are needed, or --jobs FILE; see heshare partition --help";
	return NULL;
}

static int run_partition(const struct call *call, struct hes_err *err)
{
	struct partition_opts *o = call->opts;
	struct partition_name jobs[HES_PARTITION_MAX_JOBS];
	const char *wrong = misuse(o, call->n);
	const int n_jobs = o->n_jobs < 0 ? call->n : o->n_jobs;
	int rc;

	if (wrong)
		return opt_usage(err, wrong);
	o->q.from.app = cli_app();
	o->q.from.progress = cli_progress;
	o->q.objective = o->objective ? (enum hes_partition_objective)word_index(
						o->objective, hes_partition_objectives)
			 : o->q.jobs ? HES_PARTITION_ENERGY
				     : HES_PARTITION_NORMALIZED;
	if (o->q.jobs)
		return run_fleet(o, err);
	for (int i = 0; i < n_jobs; i++) {
		if (partition_name_parse(call->args[i], &jobs[i], err))
			return OPT_USAGE;
		if (o->q.from.modelled && !jobs[i].batch_size)
			jobs[i].batch_size = PARTITION_MODELLED_BATCH;
	}
	rc = partition_check(&o->q, jobs, (size_t)n_jobs, err);
	return rc ? rc
		  : run_split(o, jobs, (size_t)n_jobs, o->n_jobs < 0 ? NULL : call->args + n_jobs,
			      err);
}

const struct command cmd_partition = {
	.name = "partition",
	.args = "[JOB JOB... [-- 'COMMAND' 'COMMAND'...]]",
	.min_args = 0,
	.max_args = 2 * HES_PARTITION_MAX_JOBS,
	.max_before = HES_PARTITION_MAX_JOBS,
	.before = offsetof(struct partition_opts, n_jobs),
	.summary = "find the split of a GPU's SMs with the most work per joule",
	.text = "Predicts the throughput of each job, the GPU's power and the work per joule for "
		"every split of a GPU's SMs between jobs (MPS). It needs measurements of each job "
		"alone. Marks the best split and prints the commands that apply it. Or it says "
		"that the jobs are to take turns: one at a time on the whole GPU, without MPS. It "
		"says so unless the best split does more work per joule by its whole interval. A "
		"JOB is NAME, or NAME/BATCH, as heshare profile measured it; with --modelled, NAME "
		"alone is batch size 8.\n\n"
		"Objectives. normalized: each job's throughput counts as a part of its own alone "
		"on the whole GPU, summed. energy: the harmonic mean of these parts, so that no "
		"job is starved for another. sum: the sum of iterations a second, as in the paper; "
		"it favours a job with short iterations.\n\n"
		"--run carries the best split out on a GPU of this machine, with MPS, shares and "
		"clock. Where the jobs are to take turns, it runs nothing unless --split names a "
		"split. It prints for each job its iterations, speed and joules next to the "
		"prediction. It runs the commands after --, one for each job, each a line for the "
		"shell; without them those that heshare profile measured. A job that ends with 0, "
		"or that --for or Ctrl-C ends, counts as done.\n\n"
		"With --jobs, puts many jobs on the GPUs of a fleet: which of them share a GPU, "
		"with which split.",
	.example = "  heshare partition resnet50/8 bert-large/8 --gpu 0\n"
		   "  heshare partition resnet50 vgg16 bert-large --modelled --objective energy "
		   "--floor bert-large=0.3\n"
		   "  heshare partition resnet50/8 bert-large/8 --gpu 0 --run --for 60\n"
		   "  heshare partition --jobs jobs.csv --fleet fleet.yaml --most 3 --modelled",
	.opts = partition_opts,
	.opts_size = sizeof(struct partition_opts),
	.run = run_partition,
};
