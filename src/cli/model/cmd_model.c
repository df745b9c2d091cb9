/*
 * cmd_model.c - `heshare model`: print time and power of workloads by the GPU model, and its
 * parameters.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/plural.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "cli/inputs/inputs.h"
#include "cli/commands.h"
#include "app/catalogue.h"
#include "app/model_add.h"
#include "app/predict_query.h"
#include "heshare/model.h"

/* What was given of a workload that is added; 0, NULL: was not. */
struct add_workload_opts {
	const char *name, *arithmetic, *like, *style, *output;
	double gflop, weights_mib, kernels, traffic_mib;
};

static const char *const add_workload_arithmetic[] = { "fp32", "tf32", "fp16",
						       NULL }; /* as enum hes_math */
static const char *const add_workload_styles[] = { "eager", "graphs", NULL };

/* The networks that --like may name. */
static void offer_known_networks(opt_say_fn *say, void *ctx)
{
	struct hes_model *m = NULL;
	struct hes_err err;

	if (hes_model_load(NULL, &m, &err))
		return;
	for (size_t i = 0; i < hes_model_workloads(m); i++)
		if (hes_prior_counts(m, i))
			say(hes_model_workload_at(m, i)->name, ctx);
	hes_model_free(m);
}

struct model_opts {
	bool list, json;
	const char *gpu, *co_runners, *physics, *catalogue, *profiles;
	uint64_t batch, share, clock;
	double limit_w;
	struct add_workload_opts add;
};

#define AT(member) .offset = offsetof(struct model_opts, member)

/* clang-format off */
static const struct opt model_opts[] = {
	{ .heading = "about the model",
	  .name = "list", .letter = 'l', .kind = OPT_FLAG, AT(list), .alone = true,
	  .help = "list the workloads and GPU types of the model" },
	{ .heading = "job and GPU",
	  .name = "batch", .letter = 'b', .kind = OPT_U64, AT(batch), .arg = "N", .def = "1",
	  .min = 1, .max = HES_MODEL_MAX_BATCH, .without = "list,add-workload",
	  .help = "batch size" },
	{ .name = "gpu", .letter = 'g', .kind = OPT_TEXT, AT(gpu), .arg = "TYPE",
	  .def = "A100-SXM-80", .offer = offer_gpu_types, .without = "list,add-workload",
	  .help = "GPU type; see heshare gpus --types" },
	{ .name = "share", .letter = 's', .kind = OPT_U64, AT(share), .arg = "PCT", .def = "100",
	  .min = 1, .max = 100, .without = "list,add-workload", .help = "SM share, %" },
	{ .name = "clock", .letter = 'c', .kind = OPT_U64, AT(clock), .arg = "MHZ", .min = 1,
	  .max = 10000, .without = "list,add-workload",
	  .help = "SM clock, MHz; without it, the default of the type" },
	{ .name = "power-limit", .kind = OPT_DOUBLE, AT(limit_w), .arg = "W", .min = 1,
	  .max = 10000, .without = "list,add-workload",
	  .help = "power limit of the GPU, W; without it, that of the type" },
	{ .name = "co-runners", .kind = OPT_TEXT, AT(co_runners), .arg = "W:B:S[,...]",
	  .without = "list,add-workload",
	  .help = "co-runners: workload, batch size and SM share of each" },
	{ .heading = "a workload of your own",
	  .name = "add-workload", .alone = true, .without = "list", .letter = 'a', .kind = OPT_TEXT,
	  AT(add.name), .arg = "NAME",
	  .help = "find parameters of this workload from the facts below, from --profiles or from "
		  "both, and the error to expect" },
	{ .name = "gflop", .with = "add-workload", .kind = OPT_DOUBLE, AT(add.gflop), .arg = "N",
	  .min = 1e-4, .max = 1e6,
	  .help = "operations of an item, 10^9; multiply and add count two" },
	{ .name = "weights", .with = "add-workload", .kind = OPT_DOUBLE, AT(add.weights_mib),
	  .arg = "MIB", .min = 1e-3, .max = 1e6, .help = "parameters of the network, MiB" },
	{ .name = "kernels", .with = "add-workload", .kind = OPT_DOUBLE, AT(add.kernels),
	  .arg = "N", .min = 1, .max = 1e6, .help = "kernels that an iteration launches" },
	{ .name = "traffic", .with = "add-workload", .kind = OPT_DOUBLE, AT(add.traffic_mib),
	  .arg = "MIB", .min = 1e-3, .max = 1e6,
	  .help = "activations of an item that are written and read, MiB" },
	{ .name = "arithmetic", .with = "add-workload", .kind = OPT_CHOICE, AT(add.arithmetic),
	  .arg = "NAME", .choices = add_workload_arithmetic,
	  .help = "what it computes in; without it, the one that fits the profile best, or tf32" },
	{ .name = "style", .with = "add-workload", .kind = OPT_CHOICE, AT(add.style),
	  .arg = "NAME", .choices = add_workload_styles,
	  .help = "how the program issues kernels: one by one (eager), or as CUDA graphs without "
		  "host time" },
	{ .name = "like", .with = "add-workload", .kind = OPT_CHOICE, AT(add.like),
	  .arg = "NETWORK", .offer = offer_known_networks,
	  .help = "known network that it resembles most" },
	{ .name = "output", .with = "add-workload", .letter = 'o', .kind = OPT_FILE, AT(add.output),
	  .arg = "FILE", .written = true,
	  .help = "with --add-workload: write its parameters to this file for --catalogue; other "
		  "workloads in it stay, comments do not" },
	{ .heading = "parameters and output",
	  .name = "physics", .kind = OPT_FILE, AT(physics), .arg = "FILE",
	  .help = "read physics parameters from this file instead of the built-in ones; "
		"" APP_SECOND_PHYSICS ": other equations, for tests" },
	CLI_CATALOGUE_OPT(offsetof(struct model_opts, catalogue)),
	{ .name = "profiles", .kind = OPT_FILE, AT(profiles), .arg = "FILE",
	  .help = "also know the workloads of profiles.csv, or of its folder: their parameters are "
		  "fitted to it" },
	{ .name = "json", .kind = OPT_FLAG, AT(json), .help = "print one JSON document" },
	{ 0 }
};
/* clang-format on */

static int list(const struct hes_model *m, const struct hes_catalogue *c, bool json)
{
	struct table workloads = { 0 }, gpus = { 0 };

	for (size_t i = 0; i < hes_model_workloads(m); i++) {
		const struct hes_workload *w = hes_model_workload_at(m, i);
		const char *load = w->testbed ? hes_load_class_name(w->load) : NULL;
		const struct cell row[] = {
			cell_text("workload", "workload", w->name),
			cell_text("framework", "framework", w->framework),
			cell_flag("testbed", NULL, w->testbed),
			cell_shown(cell_text("load", "load", load), load ? load : ""),
			cell_text("origin", "fitted on", w->origin),
		};

		TABLE_ROW(&workloads, row);
	}
	for (size_t i = 0; i < c->n; i++) {
		const char *origin = hes_model_gpu_origin(m, c->types[i].name);
		const struct cell row[] = {
			cell_text("gpu_type", "GPU type", c->types[i].name),
			cell_text("origin", "fitted on", origin),
		};

		if (origin)
			TABLE_ROW(&gpus, row);
	}
	if (json)
		return cli_print_json("heshare-model-list",
				      json_pack("{s:o, s:o}", "workloads", table_json(&workloads),
						"gpus", table_json(&gpus)));
	cli_print_table(&workloads, stdout, 0);
	putchar('\n');
	cli_print_table(&gpus, stdout, 0);
	return 0;
}

/* Fill co-runners 1.. from "W:B:S,W:B:S". */
static int parse_co_runners(const struct hes_model *m, const char *list, struct hes_model_job *r,
			    size_t *n, struct hes_err *err)
{
	struct predict_co_runner named;
	int rc;

	while ((rc = predict_co_runner_next(&list, &named, err)) > 0) {
		if (*n == HES_MODEL_MAX_JOBS)
			return hes_fail(err, -E2BIG, "--co-runners: at most %d jobs on a GPU",
					HES_MODEL_MAX_JOBS);
		r[*n] = (struct hes_model_job){ hes_model_workload(m, named.workload, err),
						named.batch_size, named.sm_pct };
		if (!r[(*n)++].workload)
			return -ENOENT;
	}
	return rc;
}

static struct table jobs_table(const struct hes_model_job *r, const struct hes_rate *rates,
			       size_t n)
{
	struct table t = { 0 };

	for (size_t i = 0; i < n; i++) {
		const struct hes_rate *x = &rates[i];
		const struct cell row[] = {
			cell_text("workload", "workload", r[i].workload->name),
			cell_count("batch_size", "batch", r[i].batch),
			cell_key(cell_count("sm_pct", "SM %", r[i].sm_pct)),
			cell_count("memory_mib", "MiB",
				   hes_workload_memory_mib(r[i].workload, r[i].batch)),
			cell_real(NULL, "ms/iteration", 3, 1e3 / x->iterations_per_s),
			cell_real("iteration_us", NULL, 0, 1e6 / x->iterations_per_s),
			cell_real("items_per_s", "items/s", 1, x->iterations_per_s * r[i].batch),
			cell_real(NULL, "SM used %", 1, 100 * x->sm_util),
			cell_real("sm_util", NULL, 0, x->sm_util),
			cell_real(NULL, "DRAM %", 1, 100 * x->dram_util),
			cell_real("dram_util", NULL, 0, x->dram_util),
			cell_real(NULL, "L2 %", 1, 100 * x->l2_util),
			cell_real("l2_util", NULL, 0, x->l2_util),
			cell_real("occupancy", NULL, 0, x->occupancy),
		};

		TABLE_ROW(&t, row);
	}
	return t;
}

static int print_instant(const struct hes_gpu_type *g, const char *origin,
			 const struct hes_instant *now, const struct hes_model_job *r,
			 const struct hes_rate *rates, size_t n, const struct app_fits *fits,
			 bool json)
{
	struct table jobs = jobs_table(r, rates, n);

	if (json)
		return cli_print_json("heshare-model",
				      json_pack("{s:s, s:s, s:I, s:b, s:f, s:o, s:o*}", "gpu_type",
						g->name, "origin", origin, "clock_mhz",
						(json_int_t)now->clock_mhz, "throttled",
						now->throttled, "power_w", now->power_mw * 1e-3,
						"jobs", table_json(&jobs), "fitted",
						cli_fits_json(fits->v, fits->n)));
	printf("%s at %u MHz%s: %.1f W (modelled)\n\n", g->name, now->clock_mhz,
	       now->throttled ? ", held by its power limit" : "", now->power_mw / 1e3);
	cli_print_table(&jobs, stdout, 0);
	if (fits->n)
		putchar('\n');
	cli_fits_print(fits->v, fits->n);
	return 0;
}

static int what_if(const struct hes_model *m, const struct hes_catalogue *c,
		   const struct model_opts *o, struct app_fits *fits, const char *workload,
		   struct hes_err *err)
{
	struct hes_model_job r[HES_MODEL_MAX_JOBS] = { { .batch = (uint32_t)o->batch,
							 .sm_pct = (uint32_t)o->share } };
	struct hes_rate rates[HES_MODEL_MAX_JOBS];
	struct hes_instant now;
	const struct hes_gpu_type *g;
	size_t n = 1;

	r[0].workload = hes_model_workload(m, workload, err);
	if (!r[0].workload)
		return OPT_USAGE;
	g = hes_gpu_type_find(c, o->gpu, err);
	if (!g)
		hes_fail_in(err, "--gpu");
	/* All values are of options. */
	if (!g || parse_co_runners(m, o->co_runners, r, &n, err) ||
	    hes_model_instant(m, g, (uint32_t)o->clock, (uint32_t)lround(o->limit_w * 1e3), r, n,
			      rates, &now, err) ||
	    app_fits_own(r[0].workload, fits, err))
		return err->code == -ERANGE || err->code == -EINVAL ? OPT_USAGE : err->code;
	app_model_tell_derived(cli_app(), m, &g, 1);
	return print_instant(g, hes_model_gpu_origin(m, g->name), &now, r, rates, n, fits, o->json);
}

static bool add_workload_has_fact(const struct add_workload_opts *o)
{
	return o->gflop > 0 || o->weights_mib > 0 || o->kernels > 0 || o->traffic_mib > 0 ||
	       o->arithmetic || o->like || o->style;
}

static struct hes_workload_facts facts_of(const struct add_workload_opts *o, bool measured)
{
	struct hes_workload_facts f = {
		.gflop_per_item = o->gflop,
		.weights_mib = o->weights_mib,
		.traffic_mib_per_item = o->traffic_mib,
		.kernels = o->kernels,
		.like = o->like,
		.style = !o->style                   ? HES_STYLE_UNKNOWN
			 : strcmp(o->style, "eager") ? HES_STYLE_GRAPHS
						     : HES_STYLE_EAGER,
		.has_math = o->arithmetic || !measured,
		.math = HES_MATH_TF32,
	};

	for (size_t i = 0; o->arithmetic && add_workload_arithmetic[i]; i++)
		if (!strcmp(o->arithmetic, add_workload_arithmetic[i]))
			f.math = (enum hes_math)i;
	return f;
}

static void print_added(const struct hes_model_fit *f, const struct add_workload_opts *o)
{
	const struct hes_expected_error *e = &f->expected;
	const struct {
		const char *what;
		double median;
	} rows[] = {
		{ "time alone", e->time_alone },
		{ "time with a co-runner", e->time_shared },
		{ "the co-runner's time", e->co_runner },
		{ "GPU power", e->power_median },
	};
	struct table t = { 0 };

	hes_visible_put(stdout, 0, o->name);
	printf(": added from %s%s%s; nearest network %s\n\n", f->points ? "its profile" : "",
	       f->points && add_workload_has_fact(o) ? " and " : "",
	       add_workload_has_fact(o) ? "public facts" : "", f->nearest);
	printf("error besides the model's own: medians over %zu measured network%s, left out and "
	       "added in the same way\n",
	       e->networks, hes_s(e->networks));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct cell row[] = {
			cell_text(NULL, "", rows[i].what),
			cell_noted(cell_real(NULL, "", 1, 100 * rows[i].median), "%"),
		};

		TABLE_ROW(&t, row);
	}
	cli_print_table(&t, stdout, 2);
	putchar('\n');
	cli_fits_print(f, 1);
}

static int add_workload(struct hes_model *m, const struct hes_catalogue *c,
			const struct add_workload_opts *o, const char *profiles, bool json,
			struct hes_err *err)
{
	const struct hes_workload_facts facts = facts_of(o, profiles);
	struct hes_model_fit fit;
	int rc = model_add(m, c, o->name, &facts, profiles, &fit, err);

	if (!rc && o->output)
		rc = model_add_to_file(hes_model_workload(m, o->name, NULL), o->output, err);
	if (rc)
		return rc;
	if (json)
		return cli_print_json("heshare-model-fit",
				      json_pack("{s:o}", "fitted", cli_fits_json(&fit, 1)));
	print_added(&fit, o);
	return 0;
}

/* What is wrong with the options together; NULL: nothing. */
static const char *misuse(const struct model_opts *o, int n_args)
{
	if (!o->add.name)
		return n_args == 0 && !o->list ? "a WORKLOAD, --list or --add-workload NAME is "
						 "needed"
					       : NULL;
	if (o->physics && !strcmp(o->physics, APP_SECOND_PHYSICS))
		return "--add-workload goes with no --physics " APP_SECOND_PHYSICS
		       ": it would fit to equations that are for tests";
	return o->add.gflop > 0 || o->profiles
		       ? NULL
		       : "--add-workload needs --gflop N, the operations of an item, or --profiles "
			 "FILE, or both";
}

static int run_model(const struct call *call, struct hes_err *err)
{
	const struct model_opts *o = call->opts;
	struct hes_catalogue c = { 0 };
	struct hes_model *m = NULL;
	struct app_fits fits = { 0 };
	const char *wrong = misuse(o, call->n);
	int rc;

	if (wrong)
		return opt_usage(err, wrong);
	rc = app_catalogue_load(cli_app(), o->catalogue, false, &c, err);
	if (!rc)
		rc = app_model_load(cli_app(), o->physics, &c, NULL, 0, &m, err);
	if (!rc && o->profiles && !o->add.name)
		rc = app_fits_all(m, &c, o->profiles, &fits, err);
	if (!rc && o->add.name)
		rc = add_workload(m, &c, &o->add, o->profiles, o->json, err);
	else if (!rc && o->list)
		rc = list(m, &c, o->json);
	else if (!rc)
		rc = what_if(m, &c, o, &fits, call->args[0], err);
	free(fits.v);
	hes_model_free(m);
	hes_catalogue_free(&c);
	return rc;
}

const struct command cmd_model = {
	.name = "model",
	.args = "[WORKLOAD]",
	.max_args = 1,
	.offer = offer_workloads,
	.summary = "predict time and power of jobs by the GPU model",
	.text = "Prints the modelled time of an iteration, power and clock of a GPU that runs "
		"WORKLOAD, alone or with co-runners.\n\n"
		"--list lists workloads and GPU types, with the data that their parameters were "
		"fitted on.\n\n"
		"--add-workload finds the parameters of a network that the model does not know. "
		"The known networks say what facts and profile leave open. Each measured network "
		"is then left out and added in the same way; how far off that is, is the error to "
		"expect. The commands simulate, trace, plan and model know the workload with "
		"--catalogue FILE, or if FILE is ~/.config/heshare/workloads.yaml.",
	.example = "  heshare model resnet50 --batch 8 --gpu T4 --clock 900\n"
		   "  heshare model vgg19 -b 4 -s 50 --co-runners bert-large:8:50\n"
		   "  heshare model mine --profiles profiles.csv -b 8\n"
		   "  heshare model --add-workload unet --gflop 62 --weights 118 --kernels 140 -o "
		   "own.yaml",
	.opts = model_opts,
	.opts_size = sizeof(struct model_opts),
	.run = run_model,
};
