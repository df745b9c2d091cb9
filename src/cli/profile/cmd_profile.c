/*
 * cmd_profile.c - `heshare profile`: its options, and profiles and samples drawn from the modelled
 * boards; profile_boards.c measures boards of this machine.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/plural.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/inputs/knowledge.h"
#include "cli/inputs/offers.h"
#include "cli/profile/profile.h"
#include "cli/inputs/rows_folder.h"
#include "cli/inputs/store_use.h"
#include "heshare/draw.h"

#define MAX_ARGS 4096

#define AT(member) offsetof(struct profile_opts, member)

static const struct opt profile_opts[] = {
	{ .name = "gpus", .letter = 'g', .kind = OPT_TEXT, .offset = AT(gpus), .arg = "LIST",
	  .help = "boards to measure on: all, or indices, UUIDs, PCI addresses with commas; without it, all" },
	{ .name = "batch", .letter = 'b', .kind = OPT_TEXT, .offset = AT(batch), .arg = "LIST", .def = "1",
	  .help = "batch sizes of NAME: 8, or 1,8,64; put into COMMAND for {batch}" },
	{ .name = "shares", .kind = OPT_TEXT, .offset = AT(shares), .arg = "LIST", .def = "10..100",
	  .help = "SM shares, %: 30,60 or 10..100 (in tens) or 10..100:5" },
	{ .name = "clocks", .kind = OPT_TEXT, .offset = AT(clocks), .arg = "LIST", .def = "auto",
	  .help = "SM clocks, MHz: auto, those of the type; default, none is locked; or 900,1200" },
	{ .name = "beside", .kind = OPT_TEXT, .offset = AT(co_runners), .arg = "LIST",
	  .help = "neighbours, NAME/BATCH, profiled before; a+b: both at once; or one NAME/BATCH=COMMAND" },
	{ .name = "jobs", .letter = 'j', .kind = OPT_FILE, .offset = AT(jobs), .arg = "FILE",
	  .help = "all workloads and batch sizes of these jobs, alone and in random company, in place of NAME" },
	{ .name = "samples", .kind = OPT_U64, .offset = AT(samples), .arg = "N", .def = "1000", .min = 1,
	  .max = HES_DRAW_MAX_SAMPLES, .help = "of --jobs and --modelled: samples under sharing" },
	{ .name = "most", .kind = OPT_U64, .offset = AT(most), .arg = "N", .def = "4", .min = 2, .max = HES_MAX_SHARING,
	  .help = "of --jobs: jobs on a board at a time" },
	{ .name = "seed", .letter = 's', .kind = OPT_U64, .offset = AT(seed), .arg = "S", .def = "1", .max = 0x1p64,
	  .help = "of --jobs and --modelled: of what is drawn, and of the noise" },
	{ .name = "iterations", .letter = 'n', .kind = OPT_U64, .offset = AT(iterations), .arg = "N", .def = "0", .max = 1e12,
	  .help = "that one run of COMMAND makes, where it does not print its progress" },
	{ .name = "warm-up", .kind = OPT_DOUBLE, .offset = AT(warm_up_s), .arg = "S", .def = "2", .max = 86400,
	  .help = "left out after a job has joined; half of it after a change of the clock" },
	{ .name = "window", .letter = 'w', .kind = OPT_DOUBLE, .offset = AT(window_s), .arg = "S", .def = "2", .min = 0.1,
	  .max = 86400, .help = "length of one measurement" },
	{ .name = "repeats", .kind = OPT_TEXT, .offset = AT(repeats), .arg = "A..B", .def = "3..10",
	  .help = "measurements of a point: until the last A agree, at most B" },
	{ .name = "cv", .kind = OPT_DOUBLE, .offset = AT(cv_pct), .arg = "PCT", .def = "5", .min = 0.01, .max = 100,
	  .help = "they agree when time and power vary by less: coefficient of variation, %" },
	{ .name = "patience", .kind = OPT_DOUBLE, .offset = AT(patience_s), .arg = "S", .def = "120", .min = 1, .max = 1e6,
	  .help = "a job without progress for so long has failed" },
	{ .name = "minutes", .letter = 'm', .kind = OPT_DOUBLE, .offset = AT(minutes), .arg = "MIN", .def = "0", .max = 1e6,
	  .help = "stop after this time; the same command goes on from there; 0: no limit" },
	{ .name = "dry-run", .kind = OPT_FLAG, .offset = AT(dry_run), .help = "say how many points and how long, and measure nothing" },
	{ .name = "store", .kind = OPT_FILE, .offset = AT(store), .arg = "FILE",
	  .help = "the store; without it " CLI_STORE_PLACE ". Of --modelled: into this store, marked as modelled" },
	{ .name = "json", .kind = OPT_FLAG, .offset = AT(json), .help = "the result as one JSON document" },
	{ .name = "modelled", .kind = OPT_FLAG, .offset = AT(modelled),
	  .help = "take boards as the model has them; no GPU is needed" },
	{ .name = "output", .letter = 'o', .kind = OPT_FILE, .offset = AT(out), .arg = "DIR",
	  .help = "of --modelled: where profiles.csv and samples.csv go; made if it is not there" },
	{ .name = "types", .kind = OPT_TEXT, .offset = AT(types), .arg = "LIST", .def = "T4,V100-SXM2-32,A100-SXM-80",
	  .offer = offer_gpu_types, .many = true, .help = "of --modelled: GPU types, commas between them" },
	{ .name = "fleet", .letter = 'f', .kind = OPT_FILE, .offset = AT(fleet), .arg = "FILE",
	  .help = "of --modelled: the GPU types of this fleet instead" },
	{ .name = "noise", .kind = OPT_DOUBLE, .offset = AT(noise_pct), .arg = "PCT", .def = "1.7", .max = 50,
	  .help = "of --modelled: run-to-run variation of a measurement, %" },
	{ 0 }
};

static int choose_types(const struct profile_opts *o, const struct hes_catalogue *c,
			const struct hes_gpu_type **types, struct hes_err *err)
{
	struct hes_fleet f;
	int rc;

	if (!o->fleet)
		return cli_types(o->types, c, types, CLI_MAX_TYPES, err);
	rc = hes_fleet_load(o->fleet, c, &f, err);
	if (rc)
		return rc;
	rc = (int)hes_fleet_types(&f, types, CLI_MAX_TYPES);
	hes_fleet_free(&f);
	return rc;
}

static int keep(const struct profile_opts *o, const struct hes_profiles *p, const struct hes_samples *s,
		struct hes_err *err)
{
	char name[64];
	struct hes_delivery d = { .source = HES_SOURCE_MODELLED, .at_us = hes_wall_us(), .name = name, .profiles = p, .samples = s };
	struct hes_delivered done = { 0 };
	struct hes_store *store = NULL;
	int rc = cli_store_open(o->store, HES_STORE_WRITE, HES_STORE_WAIT_MS, &store, err);

	snprintf(name, sizeof(name), "heshare profile --seed %" PRIu64, o->seed);
	if (!rc)
		rc = hes_store_add(store, &d, &done, err);
	if (!rc)
		fprintf(stderr, "%s: profiles: %zu new, %zu known; samples: %zu new, %zu known\n", o->store,
			done.profiles_new, done.profiles_known, done.samples_new, done.samples_known);
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
		rc = cli_rows_save(o->out, &p, &s, err);
	if (!rc && o->out)
		fprintf(stderr, "%s/profiles.csv: %zu profile%s; %s/samples.csv: %zu sample%s\n", o->out, p.n, hes_s(p.n), o->out,
			s.n, hes_s(s.n));
	if (!rc && o->store)
		rc = keep(o, &p, &s, err);
	hes_profiles_free(&p);
	hes_samples_free(&s);
	return rc;
}

static int profile(const struct profile_opts *o, struct hes_err *err)
{
	const struct hes_gpu_type *types[CLI_MAX_TYPES];
	struct hes_draw d = { .types = types, .noise = o->noise_pct / 100, .seed = o->seed };
	struct hes_catalogue c;
	struct hes_model *model = NULL;
	int rc = hes_catalogue_load(NULL, &c, err);

	if (rc)
		return rc;
	rc = choose_types(o, &c, types, err);
	if (rc > 0) {
		d.n_types = (size_t)rc;
		rc = hes_model_load(NULL, &model, err);
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
		return "--modelled takes no command: modelled boards run nothing";
	if (o->modelled)
		return o->out || o->store ? NULL : "-o DIR is needed, the folder for profiles.csv and samples.csv, or --store FILE";
	if (o->out)
		return "-o is of --modelled; what is measured goes into the store (heshare profiles export)";
	if (o->jobs)
		return o->co_runners ? "--beside is of NAME: --jobs puts jobs beside one another by itself" : NULL;
	return n_args >= 2 ? NULL : "NAME -- COMMAND is needed, or --jobs FILE, or --modelled; see heshare profile --help";
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
	if (!o->modelled)
		return profile_boards(o, n_args, args);
	return profile(o, &err) ? cli_fail("profile", &err) : 0;
}

const struct command cmd_profile = {
	.name = "profile",
	.args = "[NAME] [-- COMMAND [ARGUMENT]...]",
	.max_args = MAX_ARGS,
	.summary = "profile workloads alone and sharing a GPU",
	.text = "Runs COMMAND, known as NAME, on the boards of this machine with every SM share and at\n"
		"every clock, alone and beside the jobs of --beside, and keeps what was measured in the store:\n"
		"time of an iteration, power, clock, activity of SMs and memory. Boards of one type share\n"
		"the work. COMMAND is to print \"heshare: N iterations\" now and then, N counted from its start,\n"
		"or to be known to make --iterations in a run; it is started again when it ends, and ended\n"
		"when it was measured. A point is jobs together on one board, each at its share, at one clock;\n"
		"those that the store has are passed over, so that what was stopped, by Ctrl-C too, goes on\n"
		"with the same command. Clocks and MPS are set back whatever happens. With several arguments\n"
		"COMMAND is a program; alone it is a line for the shell. {batch} and {workload} in it are\n"
		"filled in.\n"
		"\n"
		"With --jobs, profiles whatever the jobs of FILE are, with their own commands or\n"
		"with COMMAND: each alone on the whole board, and random ones together at random shares and\n"
		"clocks until there are --samples: what `heshare train --from-store` learns from.\n"
		"\n"
		"With --modelled no board is needed: writes DIR/profiles.csv, every workload alone on every GPU\n"
		"type at batch sizes 1 to 64, and DIR/samples.csv, random workloads beside random\n"
		"neighbours, from the model of the boards with measurement noise; see docs/gpu-model.md.",
	.example = "  heshare profile resnet50 --batch 1,8,64 -- python3 serve.py --batch {batch}\n"
		   "  heshare profile bert --shares 30..90:30 --beside resnet50/8 -- python3 bert.py\n"
		   "  heshare profile --jobs jobs.csv --samples 500\n"
		   "  heshare profile --modelled -o profiles",
	.opts = profile_opts,
	.opts_size = sizeof(struct profile_opts),
	.run = run_profile,
};
