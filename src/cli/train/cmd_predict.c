/*
 * cmd_predict.c - `heshare predict`: time and power of one job with its setting and its co-runners.
 */
#include <inttypes.h>
#include <stdio.h>

#include "app/predict_query.h"
#include "base/plural.h"
#include "base/quantity.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/inputs/inputs.h"
#include "heshare/predict.h"

struct predict_opts {
	struct predict_request q;
	bool json;
};

/* clang-format off */
static const struct opt predict_opts[] = {
	{ .name = "batch", .letter = 'b', .kind = OPT_U64,
	  .offset = offsetof(struct predict_opts, q.batch), .arg = "B", .def = "8", .min = 1,
	  .max = HES_MAX_BATCH_SIZE, .help = "batch size: items in one iteration" },
	{ .name = "gpu", .letter = 'g', .kind = OPT_TEXT,
	  .offset = offsetof(struct predict_opts, q.gpu), .arg = "TYPE", .def = "V100-SXM2-32",
	  .offer = offer_gpu_types, .help = "GPU type; see heshare gpus --types" },
	CLI_CATALOGUE_OPT(offsetof(struct predict_opts, q.catalogue)),
	{ .name = "share", .kind = OPT_U64, .offset = offsetof(struct predict_opts, q.share),
	  .arg = "PCT", .def = "100", .min = 1, .max = 100, .help = "SM share, %" },
	{ .name = "clock", .kind = OPT_U64, .offset = offsetof(struct predict_opts, q.clock),
	  .arg = "MHZ", .def = "0", .max = 10000, .help = "SM clock, MHz; 0: the type's default" },
	{ .name = "co-runners", .kind = OPT_TEXT,
	  .offset = offsetof(struct predict_opts, q.co_runners), .arg = "LIST",
	  .help = "co-runners as WORKLOAD:BATCH:SHARE, with commas" },
	{ .name = "store", .kind = OPT_FILE, .offset = offsetof(struct predict_opts, q.store),
	  .arg = "FILE", .help = CLI_KNOWN_STORE_HELP },
	CLI_PREDICTOR_OPT(offsetof(struct predict_opts, q.predictor)),
	CLI_PROFILES_OPT(offsetof(struct predict_opts, q.profiles)),
	{ .name = "json", .kind = OPT_FLAG, .offset = offsetof(struct predict_opts, json),
	  .help = "one JSON document on standard output" },
	{ 0 }
};
/* clang-format on */

static json_t *reasons_json(uint32_t outside)
{
	json_t *list = json_array();

	for (uint32_t one = 1; one & HES_OUTSIDE_ALL; one <<= 1)
		if (outside & one)
			json_array_append_new(list,
					      json_string(hes_outside_name((enum hes_outside)one)));
	return list;
}

static json_t *interval_json(const struct hes_estimate *e, double coverage)
{
	return json_pack("{s:f, s:f, s:f, s:f, s:f}", "coverage_pct", 100 * coverage,
			 "iteration_low_us", e->iteration_low_us, "iteration_high_us",
			 e->iteration_high_us, "power_low_w", e->power_low_mw * 1e-3,
			 "power_high_w", e->power_high_mw * 1e-3);
}

/* Iterations take milliseconds, whole runs of scripts up to days. */
static const char *iteration_text(char out[HES_QUANTITY_MAX], double us)
{
	if (us >= 1e6)
		return hes_time_text(out, us);
	snprintf(out, HES_QUANTITY_MAX, "%.3f ms", us * 1e-3);
	return out;
}

static void print_interval(const struct hes_estimate *e, double coverage)
{
	char why[HES_OUTSIDE_TEXT], low[HES_QUANTITY_MAX], high[HES_QUANTITY_MAX];

	printf("  %.0f %% interval    %s to %s, %.1f to %.1f W\n", 100 * coverage,
	       iteration_text(low, e->iteration_low_us), iteration_text(high, e->iteration_high_us),
	       e->power_low_mw * 1e-3, e->power_high_mw * 1e-3);
	if (!e->outside)
		return;
	hes_outside_text(e->outside, why);
	printf("  extrapolated     outside of the samples: %s; the interval is %.1f times as wide "
	       "for it\n",
	       why, e->widening);
}

static json_t *prediction_json(const struct predict_query *q, const struct app_known_row *row,
			       double coverage)
{
	const struct hes_estimate *e = &q->estimate;
	const double items_per_s = q->task.batch_size * 1e6 / e->iteration_us,
		     watts = e->power_mw * 1e-3, before_w = q->co_runners.power_mw * 1e-3;

	return json_pack("{s:s, s:i, s:s, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:o, "
			 "s:f, s:o, s:f, s:s, s:f}",
			 "workload", q->task.workload, "batch_size", (int)q->task.batch_size,
			 "gpu_type", q->gpu->name, "sm_pct", (int)q->setting.sm_pct, "clock_mhz",
			 (int)q->setting.clock_mhz, "co_runner_count", (int)q->co_runners.jobs,
			 "iteration_us", e->iteration_us, "slowdown",
			 e->iteration_us / q->task.iteration_us, "items_per_s", items_per_s,
			 "power_w", watts, "power_before_w", before_w, "added_j_per_item",
			 (watts - before_w) / items_per_s, "interval", interval_json(e, coverage),
			 "widening", e->widening, "extrapolated", reasons_json(e->outside),
			 "start_s", q->task.start_s, "known", hes_known_sources[row->source],
			 "time_error", row->time_error);
}

/* A power limit holds the clock of a GPU that is not locked down. */
static void print_setting(const struct predict_query *q)
{
	const struct hes_gpu_type *g = q->gpu;

	printf("%s, batch size %u, on %s with %u %% of the SMs, co-runners: %u\n", q->task.workload,
	       q->task.batch_size, g->name, q->setting.sm_pct, q->co_runners.jobs);
	printf("  clock            %u MHz", q->setting.clock_mhz);
	if (hes_gpu_type_is_unlocked(g, q->setting.clock_mhz))
		printf(", or less where its power limit of %.0f W holds it",
		       g->power_limit_mw * 1e-3);
	putchar('\n');
}

static int print_prediction(const struct predict_query *q, bool json)
{
	const double coverage = hes_predictor_about(q->known.predictor)->options.coverage,
		     items_per_s = q->task.batch_size * 1e6 / q->estimate.iteration_us;
	const bool whole = hes_workload_is_whole_run(q->task.workload);
	const struct app_known_row row =
		app_known_of(&q->known, q->task.workload, q->task.batch_size, q->gpu->name);
	char time[HES_QUANTITY_MAX];

	if (json)
		return cli_print_json("heshare-predict", prediction_json(q, &row, coverage));
	print_setting(q);
	printf("  %s     %s (%.2f times as long as alone)\n",
	       whole ? "a whole run " : "an iteration",
	       iteration_text(time, q->estimate.iteration_us),
	       q->estimate.iteration_us / q->task.iteration_us);
	if (!whole)
		printf(items_per_s < 10 ? "  items a second   %.3g\n" : "  items a second   %.1f\n",
		       items_per_s);
	printf("  GPU power        %.1f W (%.1f W before it started)\n",
	       q->estimate.power_mw * 1e-3, q->co_runners.power_mw * 1e-3);
	print_interval(&q->estimate, coverage);
	if (q->task.start_s > 0)
		printf("  start-up         %.1f s, not in these figures\n", q->task.start_s);
	printf("  its profile      %s%s", hes_known_sources[row.source],
	       row.source == HES_KNOWN_NETWORK ? " network" : "");
	if (row.time_error > 0)
		printf(", standard error of its time %.0f %%", 100 * row.time_error);
	putchar('\n');
	return 0;
}

/* --- without a workload: what is in the file of a predictor --- */

static json_t *errors_json(const struct hes_accuracy *e)
{
	if (!e->rows)
		return json_null();
	return json_pack("{s:I, s:f, s:f, s:f, s:f}", "rows", (json_int_t)e->rows, "mae", e->mae,
			 "r2", e->r2, "abs_error_pct", e->abs_error_pct, "rel_error_pct",
			 e->rel_error_pct);
}

static json_t *output_json(const char *name, const char *unit, const struct hes_accuracy *e)
{
	return json_pack("{s:s, s:s, s:o}", "name", name, "unit", unit, "errors", errors_json(e));
}

static void print_errors(const char *name, const char *unit, const struct hes_accuracy *e)
{
	fputs("  ", stdout);
	hes_visible_put(stdout, 0, name);
	fputs(*unit ? ", " : "", stdout);
	hes_visible_put(stdout, 0, unit);
	fputs(": ", stdout);
	if (e->rows)
		printf("on %" PRIu64 " row%s held back off by %.6g in the mean, %.2f %% absolute, "
		       "%.2f %% relative\n",
		       e->rows, hes_s(e->rows), e->mae, e->abs_error_pct, e->rel_error_pct);
	else
		puts("never tried on rows held back");
}

static json_t *checksum_json(uint32_t crc)
{
	char text[12];

	snprintf(text, sizeof(text), "%08" PRIx32, crc);
	return json_string(text);
}

/* As text: JSON's integers end at 2^63. */
static json_t *seed_json(uint64_t seed)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, seed);
	return json_string(text);
}

/* The @i-th word of a list. */
static void print_word(size_t i, const char *word)
{
	fputs(i ? ", " : " ", stdout);
	hes_visible_put(stdout, 0, word);
}

static json_t *names_json(char (*names)[HES_NAME_MAX], uint32_t n)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(list, json_string(names[i]));
	return list;
}

static int predictor_json(const struct hes_predictor_info *a, uint32_t checksum)
{
	json_t *outputs = json_pack("[o, o]", output_json("time", "us", &a->time),
				    output_json("power", "mW", &a->power));

	return cli_print_json(
		"heshare-predictor",
		json_pack("{s:I, s:I, s:o, s:I, s:o, s:f, s:o, s:o, s:o, s:o}", "trees",
			  (json_int_t)a->options.trees, "nodes", (json_int_t)a->nodes, "seed",
			  seed_json(a->options.seed), "rows", (json_int_t)a->rows, "rows_checksum",
			  checksum_json(a->samples_crc), "coverage_pct", 100 * a->options.coverage,
			  "checksum", checksum_json(checksum), "gpu_types",
			  names_json(a->types, a->n_types), "workloads",
			  names_json(a->workloads, a->n_workloads), "outputs", outputs));
}

static void print_names(const char *what, char (*names)[HES_NAME_MAX], uint32_t n)
{
	printf("%" PRIu32 " %s:", n, what);
	for (uint32_t i = 0; i < n; i++)
		print_word(i, names[i]);
	putchar('\n');
}

static int print_predictor(const struct hes_predictor_info *a, uint32_t checksum)
{
	printf("predictor %08" PRIx32 ": %" PRIu32 " trees per output with %" PRIu32
	       " nodes in all, fitted on %" PRIu32 " samples (%08" PRIx32 ")\n",
	       checksum, a->options.trees, a->nodes, a->rows, a->samples_crc);
	print_names("GPU types", a->types, a->n_types);
	print_names("workloads", a->workloads, a->n_workloads);
	printf("intervals hold %.0f %% of measurements\n", 100 * a->options.coverage);
	print_errors("time of an iteration", "us", &a->time);
	print_errors("power", "mW", &a->power);
	return 0;
}

static int predictor_about(const char *path, bool json, struct hes_err *err)
{
	const struct hes_predictor_info *a;
	struct hes_predictor *p;
	uint32_t checksum = 0;
	int rc = hes_predictor_load(path, &p, err);

	if (rc)
		return rc;
	a = hes_predictor_about(p);
	rc = hes_predictor_checksum(p, &checksum, err);
	if (!rc)
		rc = json ? predictor_json(a, checksum) : print_predictor(a, checksum);
	hes_predictor_free(p);
	return rc;
}

static int run_predict(const struct call *call, struct hes_err *err)
{
	struct predict_opts *o = call->opts;
	struct predict_query p;
	int rc;

	if (!call->n && o->q.predictor)
		return predictor_about(o->q.predictor, o->json, err);
	if (!call->n)
		return opt_usage(err, "a WORKLOAD or --predictor FILE is needed; see heshare "
				      "predict --help");
	o->q.app = cli_app();
	o->q.workload = call->args[0];
	rc = predict_query(&o->q, &p, err);
	if (!rc)
		rc = print_prediction(&p, o->json);
	predict_query_free(&p);
	return rc;
}

const struct command cmd_predict = {
	.name = "predict",
	.args = "[WORKLOAD]",
	.min_args = 0,
	.max_args = 1,
	.offer = offer_workloads,
	.summary = "predict time and power of a job with its setting and co-runners",
	.text = "Predicts what plans are made from: the time of an iteration of WORKLOAD and the "
		"power of the GPU. An SM share, a clock and co-runners can be given.\n\n"
		"Without WORKLOAD, describes the file of --predictor: its training data, names, "
		"units, and its errors on samples that were held back.",
	.example =
		"  heshare predict resnet50 --batch 32 --gpu T4 --share 50 --co-runners vgg16:8:50",
	.opts = predict_opts,
	.opts_size = sizeof(struct predict_opts),
	.run = run_predict,
};
