/*
 * cmd_predict.c - `heshare predict`: time and power of one job with its setting and its co-runners.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/quantity.h"
#include "cli/cli.h"
#include "cli/inputs/inputs.h"
#include "cli/commands.h"
#include "app/catalogue.h"
#include "app/known.h"
#include "cli/train/about_model.h"
#include "cli/inputs/offers.h"
#include "heshare/plan.h"

struct predict_opts {
	uint64_t batch;
	const char *gpu;
	uint64_t share;
	uint64_t clock;
	const char *co_runners;
	const char *store;
	const char *predictor;
	const char *profiles;
	const char *catalogue;
	bool json;
};

/* clang-format off */
static const struct opt predict_opts[] = {
	{ .name = "batch", .letter = 'b', .kind = OPT_U64, .offset = offsetof(struct predict_opts,
	  batch), .arg = "B", .def = "8", .min = 1, .max = HES_MAX_BATCH_SIZE,
	  .help = "batch size: items in one iteration" },
	{ .name = "gpu", .letter = 'g', .kind = OPT_TEXT, .offset = offsetof(struct predict_opts,
	  gpu), .arg = "TYPE", .def = "V100-SXM2-32", .offer = offer_gpu_types,
	  .help = "GPU type; see heshare gpus --types" },
	CLI_CATALOGUE_OPT(offsetof(struct predict_opts, catalogue)),
	{ .name = "share", .kind = OPT_U64, .offset = offsetof(struct predict_opts, share),
	  .arg = "PCT", .def = "100", .min = 1, .max = 100,
	  .help = "SM share, %" },
	{ .name = "clock", .kind = OPT_U64, .offset = offsetof(struct predict_opts, clock),
	  .arg = "MHZ", .def = "0", .max = 10000,
	  .help = "SM clock, MHz; 0: the type's default" },
	{ .name = "co-runners", .older = "beside", .kind = OPT_TEXT, .offset = offsetof(struct predict_opts, co_runners),
	  .arg = "LIST",
	  .help = "co-runners as WORKLOAD:BATCH:SHARE, with commas" },
	{ .name = "store", .kind = OPT_FILE, .offset = offsetof(struct predict_opts, store),
	  .arg = "FILE", .help = CLI_KNOWN_STORE_HELP },
	CLI_PREDICTOR_OPT(offsetof(struct predict_opts, predictor)),
	CLI_PROFILES_OPT(offsetof(struct predict_opts, profiles)),
	{ .name = "json", .kind = OPT_FLAG, .offset = offsetof(struct predict_opts, json),
	  .help = "one JSON document on standard output" },
	{ 0 }
};
/* clang-format on */

struct query_line {
	const struct hes_gpu_type *gpu;
	const struct hes_known *known;
	struct hes_profile task;
	struct hes_setting setting;
	struct hes_load co_runners;
};

/* A co-runner joins those before it; the power with all of them is predicted. */
static int add_co_runner(struct query_line *q, char *text, struct hes_err *err)
{
	char *batch = strchr(text, ':'), *share = batch ? strchr(batch + 1, ':') : NULL;
	struct hes_setting setting = { .clock_mhz = q->setting.clock_mhz };
	struct hes_estimate e;
	struct hes_profile solo;
	uint32_t size = 0;
	int rc = 0;

	if (!share)
		return hes_fail(err, -EINVAL, "--co-runners: \"%.60s\" is not WORKLOAD:BATCH:SHARE",
				text);
	*batch++ = '\0';
	*share++ = '\0';
	rc = hes_parse_u32("--co-runners: batch size", batch, 1, HES_MAX_BATCH_SIZE, &size, err);
	if (!rc)
		rc = hes_parse_u32("--co-runners: share", share, 1, 100, &setting.sm_pct, err);
	if (!rc)
		rc = hes_profile_find(&q->known->profiles, text, size, q->gpu->name, &solo, err);
	if (rc)
		return rc;
	if (q->co_runners.jobs + 2 > HES_MAX_SHARING)
		return hes_fail(err, -E2BIG, "--co-runners: more than %d co-runners",
				HES_MAX_SHARING - 1);
	hes_predict(q->known->predictor, q->gpu, &solo, &setting, &q->co_runners, &e);
	hes_predict_load_add(q->known->predictor, q->gpu, &solo, &setting, &q->co_runners);
	q->co_runners.power_mw = q->co_runners.predicted_mw = e.power_mw;
	return 0;
}

static int add_co_runners(struct query_line *q, const char *list, struct hes_err *err)
{
	char *text = strdup(list ? list : ""), *rest, *one;
	int rc = text ? 0 : hes_fail(err, -ENOMEM, "out of memory");

	for (one = text ? strtok_r(text, ",", &rest) : NULL; one && !rc;
	     one = strtok_r(NULL, ",", &rest))
		rc = add_co_runner(q, one, err);
	free(text);
	return rc;
}

/* At the clock of @q. */
static int query_at(const struct predict_opts *o, const char *workload, struct query_line *q,
		    struct hes_err *err)
{
	int rc = hes_profile_find(&q->known->profiles, workload, (uint32_t)o->batch, q->gpu->name,
				  &q->task, err);

	if (rc)
		return rc;
	q->co_runners = (struct hes_load){ .power_mw = q->gpu->idle_power_mw };
	return add_co_runners(q, o->co_runners, err);
}

static double power_of(const struct query_line *q)
{
	struct hes_estimate e;

	hes_predict(q->known->predictor, q->gpu, &q->task, &q->setting, &q->co_runners, &e);
	return e.power_mw;
}

/* Predictors know the default power limit: below a lower one the GPU holds the clock at which it
 * draws what it may. */
static int keep_limit(const struct predict_opts *o, const char *workload, struct query_line *q,
		      struct hes_err *err)
{
	uint32_t low = q->gpu->clock_min_mhz, high = q->setting.clock_mhz;
	int rc = 0;

	if (q->gpu->power_limit_mw >= hes_gpu_type_default_limit_mw(q->gpu) ||
	    power_of(q) <= q->gpu->power_limit_mw)
		return 0;
	while (!rc && high - low > 1) {
		const uint32_t mid = low + (high - low) / 2;

		q->setting.clock_mhz = mid;
		rc = query_at(o, workload, q, err);
		if (!rc && power_of(q) > q->gpu->power_limit_mw)
			high = mid;
		else
			low = mid;
	}
	q->setting.clock_mhz = low;
	return rc ? rc : query_at(o, workload, q, err);
}

static int prepare_query(const struct predict_opts *o, const char *workload, struct query_line *q,
			 struct hes_err *err)
{
	int rc;

	q->setting = (struct hes_setting){ (uint32_t)o->share,
					   hes_gpu_type_clock(q->gpu, (uint32_t)o->clock) };
	if (!hes_gpu_type_is_unlocked(q->gpu, q->setting.clock_mhz) &&
	    !hes_gpu_type_has_clock(q->gpu, q->setting.clock_mhz))
		return hes_fail(err, -ERANGE,
				"--clock: %s has no clock of %u MHz; it runs from %u to %u MHz",
				q->gpu->name, q->setting.clock_mhz, q->gpu->clock_min_mhz,
				q->gpu->clock_max_mhz);
	rc = query_at(o, workload, q, err);
	return rc ? rc : keep_limit(o, workload, q, err);
}

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

static int print_prediction(const struct query_line *q, bool json)
{
	double coverage = hes_predictor_about(q->known->predictor)->options.coverage;
	struct hes_estimate e;
	double items_per_s, slowdown, watts;
	char time[HES_QUANTITY_MAX];
	const struct hes_known_row row =
		hes_known_of(q->known, q->task.workload, q->task.batch_size, q->gpu->name);

	hes_predict(q->known->predictor, q->gpu, &q->task, &q->setting, &q->co_runners, &e);
	items_per_s = q->task.batch_size * 1e6 / e.iteration_us;
	slowdown = e.iteration_us / q->task.iteration_us;
	watts = e.power_mw * 1e-3;
	if (json)
		return cli_print_json(
			"heshare-predict",
			json_pack(
				"{s:s, s:i, s:s, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:o, "
				"s:f, "
				"s:o, s:f, s:s, s:f}",
				"workload", q->task.workload, "batch_size", (int)q->task.batch_size,
				"gpu", q->gpu->name, "sm_pct", (int)q->setting.sm_pct, "clock_mhz",
				(int)q->setting.clock_mhz, "co_runner_count",
				(int)q->co_runners.jobs, "iteration_us", e.iteration_us, "slowdown",
				slowdown, "items_per_s", items_per_s, "power_w", watts,
				"power_before_w", q->co_runners.power_mw * 1e-3, "added_j_per_item",
				(watts - q->co_runners.power_mw * 1e-3) / items_per_s, "interval",
				interval_json(&e, coverage), "widening", e.widening, "extrapolated",
				reasons_json(e.outside), "start_s", q->task.start_s, "known",
				hes_known_sources[row.source], "time_error", row.time_error));
	printf("%s, batch size %u, on %s with %u %% of the SMs at %u MHz, co-runners: %u\n",
	       q->task.workload, q->task.batch_size, q->gpu->name, q->setting.sm_pct,
	       q->setting.clock_mhz, q->co_runners.jobs);
	printf("  %s     %s (%.2f times as long as alone)\n",
	       hes_workload_is_whole_run(q->task.workload) ? "a whole run " : "an iteration",
	       iteration_text(time, e.iteration_us), slowdown);
	if (!hes_workload_is_whole_run(q->task.workload))
		printf(items_per_s < 10 ? "  items a second   %.3g\n" : "  items a second   %.1f\n",
		       items_per_s);
	printf("  GPU power        %.1f W (%.1f W before it started)\n", watts,
	       q->co_runners.power_mw * 1e-3);
	print_interval(&e, coverage);
	if (q->task.start_s > 0)
		printf("  start-up         %.1f s, not in these figures\n", q->task.start_s);
	printf("  known            %s", hes_known_sources[row.source]);
	if (row.time_error > 0)
		printf(", standard error of its time %.0f %%", 100 * row.time_error);
	putchar('\n');
	return 0;
}

/* The workload, its whole run and its co-runners; what is no co-runner is refused later. */
static int name_jobs(const struct predict_opts *o, const char *workload, struct hes_jobs *out,
		     struct hes_err *err)
{
	const char *at = o->co_runners ? o->co_runners : "";

	out->v = calloc(3 + strlen(at), sizeof(*out->v));
	if (!out->v)
		return hes_fail(err, -ENOMEM, "out of memory");
	snprintf(out->v[0].workload, sizeof(out->v[0].workload), "%s", workload);
	out->v[0].batch_size = (uint32_t)o->batch;
	hes_job_whole_run_of(workload, out->v[1].workload);
	out->v[1].batch_size = (uint32_t)o->batch;
	out->v[1].whole_run = true;
	for (out->n = 2; *at; at += strcspn(at, ","), at += *at == ',') {
		struct hes_job *j = &out->v[out->n];
		unsigned batch;

		if (sscanf(at, "%47[^:,]:%5u", j->workload, &batch) == 2) {
			j->batch_size = batch;
			out->n++;
		}
	}
	return 0;
}

static int load_known(const struct predict_opts *o, const char *workload,
		      const struct hes_catalogue *c, const struct hes_gpu_type *g,
		      struct hes_known *out, struct hes_err *err)
{
	struct hes_jobs jobs = { .n = 0 };
	const struct hes_known_request from = { .app = cli_app(),
						.catalogue = c,
						.types = &g,
						.n_types = 1,
						.store = o->store,
						.predictor = o->predictor,
						.profiles = o->profiles,
						.jobs = &jobs };
	int rc = name_jobs(o, workload, &jobs, err);

	if (!rc)
		rc = hes_known_load(&from, out, err);
	free(jobs.v);
	return rc;
}

static bool is_known(const struct hes_known *k, const struct predict_opts *o, const char *workload,
		     const char *gpu_type)
{
	return hes_known_of(k, workload, (uint32_t)o->batch, gpu_type).source != HES_KNOWN_UNKNOWN;
}

static int run_workload(const struct predict_opts *o, const char *workload)
{
	struct hes_known known = { .learnt = false };
	struct query_line q = { .known = &known };
	struct hes_catalogue c;
	char whole[HES_NAME_MAX];
	struct hes_err err;
	int status = 1,
	    rc = app_catalogue_load(cli_app(), o->catalogue, o->predictor != NULL, &c, &err);

	if (rc)
		return cli_fail("predict", &err);
	q.gpu = hes_gpu_type_find(&c, o->gpu, &err);
	if (!q.gpu)
		hes_fail_in(&err, "--gpu");
	rc = q.gpu ? load_known(o, workload, &c, q.gpu, &known, &err) : -ENOENT;
	if (!rc)
		hes_known_fit(&known, false, c.types, c.n);
	/* Of a script there is mostly the whole run alone. */
	hes_job_whole_run_of(workload, whole);
	if (!rc && !is_known(&known, o, workload, q.gpu->name) &&
	    is_known(&known, o, whole, q.gpu->name))
		workload = whole;
	if (!rc)
		rc = prepare_query(o, workload, &q, &err);
	if (rc)
		status = cli_fail("predict", &err);
	else
		status = print_prediction(&q, o->json);
	hes_known_free(&known);
	hes_catalogue_free(&c);
	return status;
}

static int run_predict(const void *opts, int n_args, char **args)
{
	const struct predict_opts *o = opts;

	if (n_args)
		return run_workload(o, args[0]);
	if (o->predictor)
		return predictor_about(o->predictor, o->json);
	fprintf(stderr, "heshare predict: a WORKLOAD or --predictor FILE is needed; see heshare "
			"predict --help\n");
	return 2;
}

const struct command cmd_predict = {
	.name = "predict",
	.args = "[WORKLOAD]",
	.min_args = 0,
	.max_args = 1,
	.offer = offer_workloads,
	.summary = "predict time and power of a job with its setting and co-runners",
	.text = "Predicts what plans are made from: the time of an iteration of WORKLOAD "
		"and the power of the GPU. An SM share, a clock and co-runners can be "
		"given.\n\n"
		"Without WORKLOAD, describes the file of --predictor: its training data, "
		"names, units, and its errors on samples that were held back.",
	.example =
		"  heshare predict resnet50 --batch 32 --gpu T4 --share 50 --co-runners vgg16:8:50",
	.opts = predict_opts,
	.opts_size = sizeof(struct predict_opts),
	.run = run_predict,
};
