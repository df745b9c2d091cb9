/*
 * cmd_train.c - `heshare train`: its options, and the errors on unseen samples, as text and as
 * JSON. src/app/train.c trains the predictor.
 */
#include <inttypes.h>
#include <omp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "app/train.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/inputs/inputs.h"

struct train_opts {
	struct train_request q;
	double noise_pct;
	bool from_store, json;
};

#define AT(member) offsetof(struct train_opts, member)

/* clang-format off */
static const struct opt train_opts[] = {
	{ .heading = "the predictor",
	  .name = "output", .letter = 'o', .kind = OPT_FILE, .offset = AT(q.out), .arg = "FILE",
	  .written = true, .help = "write the predictor to this file" },
	{ .name = "trees", .kind = OPT_U64, .offset = AT(q.trees), .arg = "N", .def = "0",
	  .max = HES_TRAIN_MAX_TREES, .help = "trees per output; 0: the default" },
	{ .name = "seed", .letter = 's', .kind = OPT_U64, .offset = AT(q.seed), .arg = "S",
	  .def = "1", .max = 0x1p64, .help = "seed of the trees and of the samples held back" },
	{ .name = "threads", .letter = 't', .kind = OPT_U64, .offset = AT(q.threads), .arg = "T",
	  .def = "0", .max = 1024,
	  .help = "threads; 0: one per processor; the result is the same" },
	{ .heading = "validation",
	  .name = "validate", .kind = OPT_DOUBLE, .offset = AT(q.validate_pct), .arg = "PCT",
	  .def = "25", .max = 90, .help = "samples to hold back for validation, %" },
	{ .name = "noise", .kind = OPT_DOUBLE, .offset = AT(noise_pct), .arg = "PCT", .def = "1.7",
	  .max = 50,
	  .help = "run-to-run variation of the samples, %; only for the noise floor in the "
		  "output" },
	{ .name = "coverage", .kind = OPT_DOUBLE, .offset = AT(q.coverage_pct), .arg = "PCT",
	  .def = "90", .min = 50, .max = 99, .help = "coverage of the prediction intervals, %" },
	{ .name = "left-out", .kind = OPT_FLAG, .offset = AT(q.left_out),
	  .help = "also train without each workload, print the errors on it" },
	{ .name = "left-out-types", .kind = OPT_FLAG, .offset = AT(q.left_out_types),
	  .help = "also train without each GPU type, print the errors on it" },
	{ .heading = "samples and output",
	  .name = "from-store", .alone = true, .kind = OPT_FLAG, .offset = AT(from_store),
	  .help = "train on the measured and imported samples of the store" },
	{ .name = "store", .with = "from-store", .kind = OPT_FILE, .offset = AT(q.store),
	  .arg = "FILE",
	  .help = "with --from-store: the store; without it " CLI_STORE_PLACE },
	CLI_CATALOGUE_OPT(AT(q.catalogue)),
	{ .name = "with-modelled", .with = "from-store", .kind = OPT_FLAG,
	  .offset = AT(q.with_modelled), .help = "with --from-store: modelled samples, too" },
	{ .name = "json", .kind = OPT_FLAG, .offset = AT(json),
	  .help = "one JSON document on standard output" },
	{ 0 }
};
/* clang-format on */

static const struct {
	const char *noun, *list; /* in JSON */
} kinds[TRAIN_LEFT_OUT] = { { "workload", "left_out" }, { "gpu_type", "left_out_types" } };

static json_t *accuracy_json(const struct hes_accuracy *a, const char *unit)
{
	return json_pack("{s:f, s:s, s:f, s:f, s:f}", "mae", a->mae, "unit", unit, "r2", a->r2,
			 "abs_error_pct", a->abs_error_pct, "rel_error_pct", a->rel_error_pct);
}

static json_t *targets_json(const struct hes_test *s)
{
	return json_pack("{s:o, s:o}", "time", accuracy_json(&s->time, "us"), "power",
			 accuracy_json(&s->power, "mW"));
}

static json_t *coverage_json(const struct hes_coverage *c)
{
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:I}", "stated_pct", 100 * c->stated,
			 "time_pct", 100 * c->time, "power_pct", 100 * c->power, "time_width_pct",
			 100 * c->time_width, "power_width_pct", 100 * c->power_width,
			 "extrapolated", (json_int_t)c->outside);
}

static json_t *left_out_json(const struct train_left_out *l, const char *noun)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < l->n; i++)
		if (l->tests[i].time.rows)
			json_array_append_new(
				list, json_pack("{s:s, s:I, s:o, s:o}", noun, l->names[i], "rows",
						(json_int_t)l->tests[i].time.rows, "outputs",
						targets_json(&l->tests[i]), "coverage",
						coverage_json(&l->tests[i].cover)));
	return list;
}

/* Mean |x| of a normal variable is 0.798 standard deviations. */
static double floor_pct(const struct train_opts *o)
{
	return 0.7978845608 * o->noise_pct;
}

static int print_json(const struct train_opts *o, const struct train_result *r)
{
	json_t *doc = json_pack(
		"{s:I, s:I, s:{s:I, s:I, s:o*}, s:f, s:f}", "trees",
		(json_int_t)hes_predictor_about(r->predictor)->options.trees, "threads",
		o->q.threads ? (json_int_t)o->q.threads : (json_int_t)omp_get_max_threads(), "rows",
		"fit", (json_int_t)r->fit.n, "test", (json_int_t)r->test.n, "modelled",
		r->prior.samples.n ? json_integer((json_int_t)r->prior.samples.n) : NULL, "fit_s",
		r->fit_s, "noise_floor_pct", floor_pct(o));

	if (doc && r->test.n) {
		json_object_set_new(doc, "outputs", targets_json(&r->unseen));
		json_object_set_new(doc, "coverage", coverage_json(&r->unseen.cover));
		json_object_set_new(doc, "predict",
				    json_pack("{s:f, s:f}", "one_row_us", r->row_s * 1e6,
					      "rows_per_s", 1 / r->row_s));
	}
	for (int k = 0; k < TRAIN_LEFT_OUT && doc; k++)
		if (r->left_out[k].n)
			json_object_set_new(doc, kinds[k].list,
					    left_out_json(&r->left_out[k], kinds[k].noun));
	return cli_print_json("heshare-train", doc);
}

/* Errors in %, of four columns, and how often intervals hold; NULL: not known. */
static void scores_row(struct table *t, const char *name, const char *rows, const double error[4],
		       const struct hes_coverage *c)
{
	const struct cell row[] = {
		cell_text(NULL, "error, %", name),
		cell_shown(cell_count(NULL, "rows", 0), rows),
		cell_real(NULL, "time abs.", 2, error[0]),
		cell_real(NULL, "rel.", 2, error[1]),
		cell_real(NULL, "power abs.", 2, error[2]),
		cell_real(NULL, "rel.", 2, error[3]),
		cell_shown(cell_real(NULL, "time holds", 1, c ? 100 * c->time : 0), c ? NULL : ""),
		cell_shown(cell_real(NULL, "+-", 1, c ? 100 * c->time_width : 0), c ? NULL : ""),
		cell_shown(cell_real(NULL, "power holds", 1, c ? 100 * c->power : 0),
			   c ? NULL : ""),
		cell_shown(cell_real(NULL, "+-", 1, c ? 100 * c->power_width : 0), c ? NULL : ""),
	};

	TABLE_ROW(t, row);
}

static void scored_row(struct table *t, const char *name, const struct hes_test *s)
{
	const double error[] = { s->time.abs_error_pct, s->time.rel_error_pct,
				 s->power.abs_error_pct, s->power.rel_error_pct };
	char rows[24];

	snprintf(rows, sizeof(rows), "%" PRIu64, s->time.rows);
	scores_row(t, name, rows, error, &s->cover);
}

static int print_text(const struct train_opts *o, const struct train_result *r)
{
	const struct hes_predictor_info *about = hes_predictor_about(r->predictor);
	const double floor = floor_pct(o);
	struct table t = { 0 };

	printf("%u trees per output, fitted on %zu sample%s", about->options.trees, r->fit.n,
	       r->fit.n == 1 ? "" : "s");
	if (r->prior.samples.n)
		printf(" and, since they are few, on %zu modelled ones that count less,",
		       r->prior.samples.n);
	printf(" in %.3f s\n", r->fit_s);
	if (r->prior.samples.n && o->q.validate_pct > 0)
		printf(r->test.n
			       ? "Each sample was left out in turn, with those of its co-run set.\n"
			       : "All samples are of one co-run set: without it nothing tells the "
				 "errors.\n");
	if (!r->test.n && !o->q.left_out && !o->q.left_out_types)
		return 0;
	if (r->test.n)
		scored_row(&t, "on unseen samples", &r->unseen);
	scores_row(&t, "the paper, Table V", "250", (double[]){ 3.10, 3.91, 3.10, 3.91 }, NULL);
	scores_row(&t, "noise floor", "", (double[]){ floor, floor, floor, floor }, NULL);
	for (int k = 0; k < TRAIN_LEFT_OUT; k++)
		for (uint32_t i = 0; i < r->left_out[k].n; i++) {
			char name[HES_NAME_MAX + 10];

			if (!r->left_out[k].tests[i].time.rows)
				continue;
			snprintf(name, sizeof(name), "without %s", r->left_out[k].names[i]);
			scored_row(&t, name, &r->left_out[k].tests[i]);
		}
	printf("\nIntervals are to hold %.0f %%; +- is their half width.\n",
	       100 * about->options.coverage);
	cli_print_table(&t, stdout, 0);
	return 0;
}

static int run_train(const struct call *call, struct hes_err *err)
{
	struct train_opts *o = call->opts;
	struct train_result r;
	int rc;

	if (!o->from_store && !call->n)
		return opt_usage(err,
				 "SAMPLES are needed, or --from-store; see heshare train --help");
	o->q.app = cli_app();
	o->q.progress = cli_progress;
	o->q.samples = call->args[0];
	rc = train_run(&o->q, &r, err);
	if (!rc)
		rc = o->json ? print_json(o, &r) : print_text(o, &r);
	train_free(&r);
	return rc;
}

const struct command cmd_train = {
	.name = "train",
	.args = "[SAMPLES]",
	.min_args = 0,
	.max_args = 1,
	.summary = "train a predictor of time and power on samples",
	.text = "Trains a predictor of the time of a job that shares a GPU, and of the GPU's "
		"power. SAMPLES is a samples.csv, or the folder of `heshare profile`, whose "
		"profiles.csv has the profiles of co-runners.\n\n"
		"Prints the errors on samples that were held back: absolute is mean |y - "
		"predicted| / mean y, relative is mean |y - predicted| / y. The interval columns "
		"show how many of these samples are inside of their prediction interval, and the "
		"width of the interval.\n\n"
		"Any number of samples will do. With fewer than 100, modelled samples of the same "
		"GPU types are added, and count less the more samples there are. All samples are "
		"then learnt from, and each is left out in turn for the errors.\n\n"
		"--from-store trains on the store of `heshare profiles`.",
	.example = "  heshare train profiles -o predictor --left-out",
	.opts = train_opts,
	.opts_size = sizeof(struct train_opts),
	.run = run_train,
};
