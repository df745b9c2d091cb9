/*
 * cmd_profile.c - `heshare profile`: solo profiles and samples under sharing,
 * drawn from the modelled boards.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/knowledge.h"
#include "cli/rows_folder.h"
#include "cli/store_use.h"
#include "heshare/draw.h"

struct profile_opts {
	bool        modelled;
	const char *out;
	const char *store;
	const char *types;
	const char *fleet;
	uint64_t    samples;
	uint64_t    seed;
	double      noise_pct;
};

static const struct opt profile_opts[] = {
	{ .name = "modelled", .kind = OPT_FLAG, .offset = offsetof(struct profile_opts, modelled),
	  .help = "take boards as the model has them; no GPU is needed" },
	{ .name = "output", .letter = 'o', .kind = OPT_FILE, .offset = offsetof(struct profile_opts, out),
	  .arg = "DIR", .help = "where profiles.csv and samples.csv go; made if it is not there" },
	{ .name = "store", .kind = OPT_FILE, .offset = offsetof(struct profile_opts, store), .arg = "FILE",
	  .help = "put them into this store, marked as modelled; with or without -o" },
	{ .name = "types", .kind = OPT_TEXT, .offset = offsetof(struct profile_opts, types), .arg = "LIST",
	  .def = "T4,V100-SXM2-32,A100-SXM-80", .help = "GPU types, commas between them" },
	{ .name = "fleet", .letter = 'f', .kind = OPT_FILE, .offset = offsetof(struct profile_opts, fleet),
	  .arg = "FILE", .help = "the GPU types of this fleet instead" },
	{ .name = "samples", .kind = OPT_U64, .offset = offsetof(struct profile_opts, samples), .arg = "N",
	  .def = "1000", .min = 1, .max = HES_DRAW_MAX_SAMPLES, .help = "samples under sharing" },
	{ .name = "seed", .letter = 's', .kind = OPT_U64, .offset = offsetof(struct profile_opts, seed),
	  .arg = "S", .def = "1", .max = 0x1p64, .help = "of what is drawn and of the noise" },
	{ .name = "noise", .kind = OPT_DOUBLE, .offset = offsetof(struct profile_opts, noise_pct),
	  .arg = "PCT", .def = "1.7", .max = 50, .help = "run-to-run variation of a measurement, %" },
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
	struct hes_delivery d = { .source = HES_SOURCE_MODELLED, .at_us = cli_now_us(), .name = name, .profiles = p, .samples = s };
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
		fprintf(stderr, "%s/profiles.csv: %zu profiles; %s/samples.csv: %zu samples\n", o->out, p.n, o->out, s.n);
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

static int run_profile(const void *opts, int n_args, char **args)
{
	const struct profile_opts *o = opts;
	struct hes_err err;

	(void)n_args;
	(void)args;
	if (!o->modelled || (!o->out && !o->store)) {
		fputs(o->out || o->store ? "heshare profile: --modelled is needed: this version profiles modelled boards, "
			       "not those of this machine\n"
			     : "heshare profile: -o DIR is needed, the folder for profiles.csv and samples.csv, or --store FILE\n",
		      stderr);
		return 2;
	}
	return profile(o, &err) ? cli_fail("profile", &err) : 0;
}

const struct command cmd_profile = {
	.name = "profile",
	.args = "",
	.summary = "profile workloads alone and sharing a GPU",
	.text = "Writes DIR/profiles.csv, every workload alone on every GPU type at batch sizes 1 to 64,\n"
		"and DIR/samples.csv, random workloads beside random neighbours at random SM shares and\n"
		"clocks: what `heshare train` learns from. With --modelled the figures come from the\n"
		"model of the boards, with measurement noise; see docs/gpu-model.md.",
	.example = "  heshare profile --modelled -o profiles\n"
		   "  heshare train profiles -o predictor",
	.opts = profile_opts,
	.opts_size = sizeof(struct profile_opts),
	.run = run_profile,
};
