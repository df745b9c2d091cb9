/*
 * cmd_profile.c - `heshare profile`: its options, and drawing from the GPU model; profile_gpus.c
 * measures.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/plural.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "app/catalogue.h"
#include "app/gpus_chosen.h"
#include "cli/inputs/inputs.h"
#include "app/known_files.h"
#include "cli/inputs/offers.h"
#include "cli/profile/profile.h"
#include "app/known_folder.h"
#include "app/known_store.h"
#include "heshare/draw.h"
#include "heshare/profiler.h"

#define LIST_MAX 128 /* values of a list */

#define MAX_ARGS 4096

#define AT(member) .offset = offsetof(struct profile_opts, member)

/* clang-format off */
static const struct opt profile_opts[] = {
	{ .heading = "what to measure",
	  .name = "gpus", .letter = 'g', .kind = OPT_TEXT, AT(gpus), .arg = "LIST",
	  .without = "modelled",
	  .help = "measure on these GPUs: all, or indices, UUIDs, PCI addresses with commas; "
		  "without it, all" },
	CLI_CATALOGUE_OPT(offsetof(struct profile_opts, catalogue)),
	{ .name = "batch", .letter = 'b', .kind = OPT_TEXT, AT(batch), .arg = "LIST", .def = "1",
	  .without = "modelled",
	  .help = "batch sizes of NAME, such as 8 or 1,8,64; {batch} in COMMAND" },
	{ .name = "shares", .kind = OPT_TEXT, AT(shares), .arg = "LIST", .def = "10..100",
	  .without = "modelled",
	  .help = "SM shares in %, such as 30,60 or 10..100 (steps of 10) or 10..100:5" },
	{ .name = "clocks", .kind = OPT_TEXT, AT(clocks), .arg = "LIST", .def = "auto",
	  .without = "modelled",
	  .help = "SM clocks in MHz, such as 900,1200; auto: those of the GPU type; the word "
		  "default: do not lock" },
	{ .name = "co-runners", .older = "beside", .kind = OPT_TEXT, AT(co_runners), .arg = "LIST",
	  .without = "modelled",
	  .help = "also run with these co-runners: NAME/BATCH,..., profiled before; a+b: both at "
		  "once; or NAME/BATCH=COMMAND. Such as bert/8,vgg/4+bert/8" },
	{ .name = "jobs", .letter = 'j', .kind = OPT_FILE, AT(jobs), .arg = "FILE",
	  .without = "modelled",
	  .help = "profile the workloads and batch sizes of these jobs, alone and in random co-run "
		  "sets, instead of NAME" },
	{ .name = "samples", .kind = OPT_U64, AT(samples), .arg = "N", .def = "1000",
	  .max = HES_DRAW_MAX_SAMPLES,
	  .with = "jobs,modelled",
	  .help = "with --jobs or --modelled: number of samples of jobs that share a GPU; 0: jobs "
		  "alone" },
	{ .name = "most", .kind = OPT_U64, AT(most), .arg = "N", .def = "4", .min = 2,
	  .max = HES_MAX_SHARING,
	  .with = "jobs",
	  .help = "with --jobs: most jobs on a GPU at a time" },
	{ .name = "seed", .letter = 's', .kind = OPT_U64, AT(seed), .arg = "S", .def = "1",
	  .max = 0x1p64,
	  .with = "jobs,modelled",
	  .help = "with --jobs or --modelled: seed of the random choices and of the noise" },
	{ .heading = "how to measure",
	  .name = "iterations", .letter = 'n', .kind = OPT_U64, AT(iterations), .arg = "N",
	  .def = "0", .max = 1e12,
	  .without = "modelled",
	  .help = "iterations of one run of COMMAND, if it does not print its progress" },
	CLI_PROGRESS_OPT(offsetof(struct profile_opts, progress)),
	{ .name = "warm-up", .kind = OPT_DOUBLE, AT(warm_up_s), .arg = "S", .def = "2",
	  .max = 86400,
	  .without = "modelled",
	  .help = "wait after a job has joined, seconds; half of it after a change of the clock" },
	{ .name = "window", .letter = 'w', .kind = OPT_DOUBLE, AT(window_s), .arg = "S", .def = "2",
	  .min = 0.1, .max = 86400,
	  .without = "modelled",
	  .help = "length of one measurement, seconds" },
	{ .name = "repeats", .kind = OPT_TEXT, AT(repeats), .arg = "A..B", .def = "3..10",
	  .without = "modelled",
	  .help = "measure a point at least A times and at most B times" },
	{ .name = "error", .kind = OPT_DOUBLE, AT(error_pct), .arg = "PCT", .def = "3", .min = 0.01,
	  .max = 100,
	  .without = "modelled",
	  .help = "a point ends when the standard errors of all times and of power are below this, "
		  "%; see docs/profiling.md" },
	{ .name = "patience", .kind = OPT_DOUBLE, AT(patience_s), .arg = "S", .def = "120",
	  .min = 1, .max = 1e6,
	  .without = "modelled",
	  .help = "a job without progress for this time has failed, seconds" },
	{ .name = "ahead", .kind = OPT_U64, AT(ahead), .arg = "N", .def = "16",
	  .max = HES_PROFILER_AHEAD,
	  .help = "most processes of a GPU that start while others are measured, or are stopped "
		  "until their turn; 0: each starts when it is its turn, and ends" },
	{ .heading = "run and results",
	  .name = "minutes", .letter = 'm', .kind = OPT_DOUBLE, AT(minutes), .arg = "MIN",
	  .def = "0", .max = 1e6,
	  .without = "modelled",
	  .help = "stop after this time; the same command continues later; 0: no limit" },
	{ .name = "dry-run", .kind = OPT_FLAG, AT(dry_run),
	  .without = "modelled",
	  .help = "print how many points and how much time it takes, measure nothing" },
	{ .name = "store", .kind = OPT_FILE, AT(store), .arg = "FILE", .help = "the store; without "
		"it "
		CLI_STORE_PLACE ". With --modelled: add the rows to it, marked as modelled" },
	{ .name = "json", .kind = OPT_FLAG, AT(json),
	  .help = "print the result as one JSON document" },
	{ .heading = "without a GPU",
	  .name = "modelled", .kind = OPT_FLAG, AT(modelled),
	  .help = "draw from the GPU model; needs no GPU" },
	{ .name = "output", .letter = 'o', .kind = OPT_FILE, AT(out), .arg = "DIR",
	  .help = "with --modelled: write profiles.csv and samples.csv into this folder" },
	{ .name = "types", .kind = OPT_TEXT, AT(types), .arg = "LIST",
	  .def = "T4,V100-SXM2-32,A100-SXM-80", .offer = offer_gpu_types, .many = true,
	  .with = "modelled",
	  .help = "with --modelled: GPU types, with commas" },
	{ .name = "fleet", .letter = 'f', .kind = OPT_FILE, AT(fleet), .arg = "FILE",
	  .with = "modelled",
	  .help = "with --modelled: the GPU types of this fleet instead" },
	{ .name = "noise", .kind = OPT_DOUBLE, AT(noise_pct), .arg = "PCT", .def = "1.7", .max = 50,
	  .with = "modelled",
	  .help = "with --modelled: variation of a measurement from run to run, %" },
	{ .name = "physics", .kind = OPT_FILE, AT(physics), .arg = "FILE", .help = "with "
		"--modelled: parameters of the GPU model, or "
		APP_SECOND_PHYSICS " for other equations" },
	{ 0 }
};
/* clang-format on */

static int choose_types(const struct profile_opts *o, const struct hes_catalogue *c,
			const struct hes_gpu_type **types, struct hes_err *err)
{
	struct hes_fleet f;
	int rc;

	if (!o->fleet) {
		rc = cli_types(o->types, c, types, HES_KNOWN_TYPES, err);
		return rc < 0 ? hes_fail_in(err, "--types") : rc;
	}
	rc = hes_fleet_load(o->fleet, c, &f, err);
	if (rc)
		return rc;
	rc = (int)hes_fleet_types(&f, types, HES_KNOWN_TYPES);
	hes_fleet_free(&f);
	return rc;
}

static int keep(const struct profile_opts *o, const struct hes_profiles *p,
		const struct hes_samples *s, struct hes_err *err)
{
	char name[64];
	struct hes_delivery d = { .source = HES_SOURCE_MODELLED,
				  .at_us = hes_wall_us(),
				  .name = name,
				  .profiles = p,
				  .samples = s };
	struct hes_delivered done = { 0 };
	struct hes_store *store = NULL;
	int rc = app_store_open(cli_app(), o->store, HES_STORE_WRITE, HES_STORE_WAIT_MS, &store,
				err);

	snprintf(name, sizeof(name), "heshare profile --seed %" PRIu64, o->seed);
	if (!rc)
		rc = hes_store_add(store, &d, &done, err);
	if (!rc)
		fprintf(stderr, "%s: profiles: %zu new, %zu known; samples: %zu new, %zu known\n",
			o->store, done.profiles_new, done.profiles_known, done.samples_new,
			done.samples_known);
	hes_store_close(store);
	return rc;
}

static int draw(const struct profile_opts *o, const struct hes_draw *d, struct hes_err *err)
{
	struct hes_profiles p = { 0 };
	struct hes_samples s = { 0 };
	int rc;

	cli_progress("drawing profiles and samples, part", 0, 2);
	rc = hes_draw_profiles(d, &p, err);
	cli_progress("drawing profiles and samples, part", 1, 2);
	if (!rc)
		rc = hes_draw_samples(d, &p, o->samples, &s, err);
	cli_progress("drawing profiles and samples, part", 2, 2);
	if (!rc && o->out)
		rc = app_rows_save(o->out, &p, &s, err);
	if (!rc && o->out)
		fprintf(stderr, "%s/profiles.csv: %zu profile%s; %s/samples.csv: %zu sample%s\n",
			o->out, p.n, hes_s(p.n), o->out, s.n, hes_s(s.n));
	if (!rc && o->store)
		rc = keep(o, &p, &s, err);
	hes_profiles_free(&p);
	hes_samples_free(&s);
	return rc;
}

static int profile(const struct profile_opts *o, struct hes_err *err)
{
	const struct hes_gpu_type *types[HES_KNOWN_TYPES];
	struct hes_draw d = { .types = types, .noise = o->noise_pct / 100, .seed = o->seed };
	struct hes_catalogue c;
	struct hes_model *model = NULL;
	int rc = app_catalogue_load(cli_app(), o->catalogue, false, &c, err);

	if (rc)
		return rc;
	rc = choose_types(o, &c, types, err);
	if (rc > 0) {
		d.n_types = (size_t)rc;
		rc = app_model_load(cli_app(), o->physics, &c, types, d.n_types, &model, err);
	}
	if (!rc) {
		d.model = model;
		rc = draw(o, &d, err);
	}
	hes_model_free(model);
	hes_catalogue_free(&c);
	return rc;
}

/* What is wrong with the options together; NULL: nothing. */
static const char *misuse(const struct profile_opts *o, int n_args)
{
	if (o->modelled && n_args)
		return "--modelled takes no command: modelled GPUs run nothing";
	if (o->modelled && !o->samples)
		return "--samples 0 is of --jobs; --modelled draws 1 at least";
	if (o->modelled)
		return o->out || o->store ? NULL
					  : "-o DIR is needed, the folder for profiles.csv and "
					    "samples.csv, or --store FILE";
	if (o->out)
		return "-o is of --modelled; what is measured goes into the store (heshare "
		       "profiles export)";
	if (o->physics)
		return "--physics is of --modelled; GPUs have their own";
	if (o->progress && o->iterations)
		return "--progress counts in the lines of a run, and --iterations in its end: give "
		       "one of them";
	if (o->jobs)
		return o->co_runners
			       ? "--co-runners needs NAME: --jobs chooses co-runners by itself"
			       : NULL;
	return n_args >= 2 ? NULL
			   : "NAME -- COMMAND is needed, or --jobs FILE, or --modelled; see "
			     "heshare profile --help";
}

/* Lists that are wrong on every machine: found before GPUs and store are opened. */
static int check_lists(const struct profile_opts *o, struct hes_err *err)
{
	const bool named = strcmp(o->clocks, "auto") == 0 || strcmp(o->clocks, "default") == 0;
	uint32_t v[LIST_MAX];
	int n = o->jobs ? 0
			: hes_ranges_parse("--batch", o->batch, 1, HES_MAX_BATCH_SIZE, v, LIST_MAX,
					   err);

	if (n >= 0 && o->progress)
		n = hes_jobs_set_progress(NULL, 0, "--progress", o->progress, err);
	if (n >= 0)
		n = hes_ranges_parse("--shares", o->shares, 1, 100, v, LIST_MAX, err);
	if (n >= 0 && !named)
		n = hes_ranges_parse("--clocks", o->clocks, 1, 10000, v, LIST_MAX, err);
	if (n >= 0 && o->co_runners)
		n = profile_co_runners_check(o->co_runners, err);
	return n < 0 ? n : gpus_check(o->gpus, err);
}

static int run_profile(const void *opts, int n_args, char **args)
{
	const struct profile_opts *o = opts;
	const char *wrong = misuse(o, n_args);
	struct hes_err err;

	if (wrong) {
		fprintf(stderr, "heshare profile: %s\n", wrong);
		return 2;
	}
	if (check_lists(o, &err))
		return cli_fail("profile", &err);
	if (!o->modelled)
		return profile_gpus(o, n_args, args);
	return profile(o, &err) ? cli_fail("profile", &err) : 0;
}

const struct command cmd_profile = {
	.name = "profile",
	.args = "[NAME] [-- COMMAND [ARGUMENT]...]",
	.max_args = MAX_ARGS,
	.summary = "profile workloads alone and sharing a GPU",
	.text = "Measures a workload: runs COMMAND, called NAME in the store, on the GPUs of this "
		"machine at every SM share and clock, alone and with the co-runners of "
		"--co-runners. "
		"The store keeps the time of an iteration, power, clock, and the activity of SMs "
		"and memory. GPUs of one type divide the work.\n\n"
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
