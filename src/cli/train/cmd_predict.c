/*
 * cmd_predict.c - `heshare predict`: what the predictor says of one job
 * under a setting beside neighbours.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/inputs/knowledge.h"
#include "cli/train/about_model.h"
#include "cli/inputs/offers.h"
#include "cli/predict_csv.h"
#include "heshare/plan.h"

struct predict_opts {
	uint64_t    batch;
	const char *gpu;
	uint64_t    share;
	uint64_t    clock;
	const char *beside;
	const char *predictor;
	const char *profiles;
	struct predict_csv table;
};

static const struct opt predict_opts[] = {
	{ .name = "batch", .letter = 'b', .kind = OPT_U64, .offset = offsetof(struct predict_opts, batch),
	  .arg = "B", .def = "8", .min = 1, .max = HES_MAX_BATCH_SIZE, .help = "items an iteration" },
	{ .name = "gpu", .letter = 'g', .kind = OPT_TEXT, .offset = offsetof(struct predict_opts, gpu),
	  .arg = "TYPE", .def = "V100-SXM2-32", .offer = offer_gpu_types, .help = "GPU type; see heshare gpus --types" },
	{ .name = "share", .kind = OPT_U64, .offset = offsetof(struct predict_opts, share), .arg = "PCT",
	  .def = "100", .min = 1, .max = 100, .help = "SM share, %" },
	{ .name = "clock", .kind = OPT_U64, .offset = offsetof(struct predict_opts, clock), .arg = "MHZ",
	  .def = "0", .max = 10000, .help = "SM clock, MHz; 0: the type's default" },
	{ .name = "beside", .kind = OPT_TEXT, .offset = offsetof(struct predict_opts, beside), .arg = "LIST",
	  .help = "neighbours, commas between them: WORKLOAD:BATCH:SHARE" },
	{ .name = "predictor", .kind = OPT_FILE, .offset = offsetof(struct predict_opts, predictor),
	  .arg = "FILE", .help = "from heshare train; without it, one is trained on modelled boards" },
	{ .name = "profiles", .kind = OPT_FILE, .offset = offsetof(struct predict_opts, profiles),
	  .arg = "FILE", .help = "profiles.csv, or the folder it lies in; without it, drawn from modelled boards" },
	{ .name = "csv", .kind = OPT_FILE, .offset = offsetof(struct predict_opts, table.csv), .arg = "FILE",
	  .help = "predict for every row of this table, with the regressor of --model" },
	{ .name = "model", .letter = 'm', .kind = OPT_FILE, .offset = offsetof(struct predict_opts, table.model),
	  .arg = "FILE", .help = "of --csv: from heshare train --csv, or LightGBM's text models, commas between them" },
	{ .name = "output", .letter = 'o', .kind = OPT_FILE, .offset = offsetof(struct predict_opts, table.out),
	  .arg = "FILE", .help = "of --csv: write the predictions here, not to standard output" },
	{ .name = "threads", .letter = 't', .kind = OPT_U64, .offset = offsetof(struct predict_opts, table.threads),
	  .arg = "T", .def = "0", .max = 1024, .help = "of --csv: 0: one a processor" },
	{ .name = "json", .kind = OPT_FLAG, .offset = offsetof(struct predict_opts, table.json),
	  .help = "one JSON document on standard output" },
	{ 0 }
};

struct question {
	const struct hes_gpu_type  *gpu;
	const struct cli_knowledge *known;
	struct hes_profile          task;
	struct hes_setting          setting;
	struct hes_load             beside;
};

/* The next neighbour joins those before it; the board's power with all of them is predicted. */
static int add_neighbour(struct question *q, char *text, struct hes_err *err)
{
	char *batch = strchr(text, ':'), *share = batch ? strchr(batch + 1, ':') : NULL;
	struct hes_setting setting = { .clock_mhz = q->setting.clock_mhz };
	struct hes_estimate e;
	struct hes_profile solo;
	uint32_t size = 0;
	int rc = 0;

	if (!share)
		return hes_fail(err, -EINVAL, "--beside: \"%.60s\" is not WORKLOAD:BATCH:SHARE", text);
	*batch++ = '\0';
	*share++ = '\0';
	rc = hes_parse_u32("--beside: batch size", batch, 1, HES_MAX_BATCH_SIZE, &size, err);
	if (!rc)
		rc = hes_parse_u32("--beside: share", share, 1, 100, &setting.sm_pct, err);
	if (!rc)
		rc = hes_profile_find(&q->known->profiles, text, size, q->gpu->name, &solo, err);
	if (rc)
		return rc;
	if (q->beside.residents + 2 > HES_MAX_SHARING)
		return hes_fail(err, -E2BIG, "--beside: more than %d neighbours", HES_MAX_SHARING - 1);
	hes_predict(q->known->predictor, q->gpu, &solo, &setting, &q->beside, &e);
	hes_predict_beside(q->known->predictor, q->gpu, &solo, &setting, &q->beside);
	q->beside.power_mw = q->beside.told_mw = e.power_mw;
	return 0;
}

static int add_neighbours(struct question *q, const char *list, struct hes_err *err)
{
	char *text = strdup(list ? list : ""), *rest, *one;
	int rc = text ? 0 : hes_fail(err, -ENOMEM, "out of memory");

	for (one = text ? strtok_r(text, ",", &rest) : NULL; one && !rc; one = strtok_r(NULL, ",", &rest))
		rc = add_neighbour(q, one, err);
	free(text);
	return rc;
}

static int ask(const struct predict_opts *o, const char *workload, struct question *q, struct hes_err *err)
{
	int rc = hes_profile_find(&q->known->profiles, workload, (uint32_t)o->batch, q->gpu->name, &q->task, err);

	if (rc)
		return rc;
	q->setting = (struct hes_setting){ (uint32_t)o->share,
					   o->clock ? (uint32_t)o->clock : q->gpu->clock_default_mhz };
	if (!hes_gpu_type_has_clock(q->gpu, q->setting.clock_mhz))
		return hes_fail(err, -ERANGE, "--clock: %s has no clock of %u MHz; it runs from %u to %u MHz",
				q->gpu->name, q->setting.clock_mhz, q->gpu->clock_min_mhz, q->gpu->clock_max_mhz);
	q->beside.power_mw = q->gpu->idle_power_mw;
	return add_neighbours(q, o->beside, err);
}

static json_t *reasons_json(uint32_t beyond)
{
	json_t *list = json_array();

	for (uint32_t one = 1; one & HES_BEYOND_ALL; one <<= 1)
		if (beyond & one)
			json_array_append_new(list, json_string(hes_beyond_name((enum hes_beyond)one)));
	return list;
}

static json_t *interval_json(const struct hes_estimate *e, double coverage)
{
	return json_pack("{s:f, s:f, s:f, s:f, s:f}", "coverage_pct", 100 * coverage, "iteration_low_us",
			 e->iteration_low_us, "iteration_high_us", e->iteration_high_us, "power_low_w",
			 e->power_low_mw * 1e-3, "power_high_w", e->power_high_mw * 1e-3);
}

static void print_interval(const struct hes_estimate *e, double coverage)
{
	char why[HES_BEYOND_TEXT];

	printf("  %.0f %% interval    %.3f to %.3f ms, %.1f to %.1f W\n", 100 * coverage, e->iteration_low_us * 1e-3,
	       e->iteration_high_us * 1e-3, e->power_low_mw * 1e-3, e->power_high_mw * 1e-3);
	if (!e->beyond)
		return;
	hes_beyond_text(e->beyond, why);
	printf("  extrapolated     outside of the samples: %s; the interval is %.1f times as wide for it\n", why, e->novelty);
}

static int answer(const struct question *q, bool json)
{
	double coverage = hes_predictor_about(q->known->predictor)->options.coverage;
	struct hes_estimate e;
	double items_per_s, slowdown, watts;

	hes_predict(q->known->predictor, q->gpu, &q->task, &q->setting, &q->beside, &e);
	items_per_s = q->task.batch_size * 1e6 / e.iteration_us;
	slowdown = e.iteration_us / q->task.iteration_us;
	watts = e.power_mw * 1e-3;
	if (json)
		return cli_print_json(json_pack(
			"{s:s, s:i, s:s, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:f, s:o}", "workload", q->task.workload,
			"batch_size", (int)q->task.batch_size, "gpu", q->gpu->name, "sm_pct", (int)q->setting.sm_pct,
			"clock_mhz", (int)q->setting.clock_mhz, "neighbours", (int)q->beside.residents,
			"iteration_us", e.iteration_us, "slowdown", slowdown, "items_per_s", items_per_s,
			"power_w", watts, "power_before_w", q->beside.power_mw * 1e-3,
			"added_j_per_item", (watts - q->beside.power_mw * 1e-3) / items_per_s,
			"interval", interval_json(&e, coverage), "novelty", e.novelty, "extrapolated",
			reasons_json(e.beyond)));
	printf("%s, batch size %u, on %s with %u %% of the SMs at %u MHz beside %u\n", q->task.workload,
	       q->task.batch_size, q->gpu->name, q->setting.sm_pct, q->setting.clock_mhz, q->beside.residents);
	printf("  an iteration     %.3f ms (%.2f times as long as alone)\n", e.iteration_us * 1e-3, slowdown);
	printf("  items a second   %.1f\n", items_per_s);
	printf("  board power      %.1f W (%.1f W before it came)\n", watts, q->beside.power_mw * 1e-3);
	print_interval(&e, coverage);
	return 0;
}

/* What is wrong with the options together; NULL: nothing. */
static const char *misuse(const struct predict_opts *o, int n_args)
{
	const struct predict_csv *t = &o->table;

	if (t->csv && n_args)
		return "WORKLOAD or --csv, not both";
	if (!t->csv && !n_args && !t->model == !o->predictor)
		return "a WORKLOAD is needed, or --csv FILE, or one file to tell of; see heshare predict --help";
	if (t->csv && !t->model)
		return "--csv needs --model, the file of a regressor; see heshare train --csv";
	if (t->csv && o->predictor)
		return "--predictor is of a WORKLOAD; the regressor of --csv is --model";
	if (n_args && t->model)
		return "--model is of --csv; the predictor of a WORKLOAD is --predictor";
	if (!t->csv && t->out)
		return "--output is of --csv";
	if (t->json && t->out)
		return "--json goes to standard output, not to --output";
	return NULL;
}

static int run_workload(const struct predict_opts *o, const char *workload)
{
	struct cli_knowledge known = { 0 };
	struct question q = { .known = &known };
	struct hes_catalogue c;
	struct hes_err err;
	int status = 1, rc = hes_catalogue_load(NULL, &c, &err);

	if (rc)
		return cli_fail("predict", &err);
	q.gpu = hes_gpu_type_find(&c, o->gpu, &err);
	rc = q.gpu ? cli_knowledge_load_types(o->predictor, o->profiles, &c, &q.gpu, 1, &known, &err) : -ENOENT;
	if (!rc)
		rc = ask(o, workload, &q, &err);
	if (rc)
		cli_fail("predict", &err);
	else
		status = answer(&q, o->table.json);
	cli_knowledge_free(&known);
	hes_catalogue_free(&c);
	return status;
}

static int run_predict(const void *opts, int n_args, char **args)
{
	const struct predict_opts *o = opts;
	const char *wrong = misuse(o, n_args);

	if (wrong) {
		fprintf(stderr, "heshare predict: %s\n", wrong);
		return 2;
	}
	if (o->table.csv)
		return predict_csv(&o->table);
	if (n_args)
		return run_workload(o, args[0]);
	return o->predictor ? predictor_about(o->predictor, o->table.json)
			    : regressor_about(o->table.model, o->table.json);
}

const struct command cmd_predict = {
	.name = "predict",
	.args = "[WORKLOAD]",
	.min_args = 0,
	.max_args = 1,
	.summary = "time and power of a job under a setting beside neighbours",
	.text = "Asks the predictor what a planner asks: how long an iteration of WORKLOAD takes with a\n"
		"share of the SMs at a clock beside neighbours, and what the board then draws.\n"
		"\n"
		"With --csv, asks a regressor for every row of a table, whose columns are found by the\n"
		"names of its features, and writes a CSV of predictions.\n"
		"\n"
		"Without a WORKLOAD and --csv, says what is in the file of --predictor or --model: what it\n"
		"was fitted on, names, units, and its errors on what was held back.",
	.example = "  heshare predict resnet50 --batch 32 --gpu T4 --share 50 --beside vgg16:8:50\n"
		   "  heshare predict --model model --csv rows.csv -o predicted.csv",
	.opts = predict_opts,
	.opts_size = sizeof(struct predict_opts),
	.run = run_predict,
};
