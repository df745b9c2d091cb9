/*
 * campaign_out.c - the figures of a campaign's runs, and the runs as JSON or CSV; see campaign.h,
 * and campaign_table.c for people.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "app/known.h"
#include "cli/inputs/inputs.h"
#include "cli/simulate/campaign_out.h"

static double avg_jct(const struct campaign_run *r)
{
	return r->replay.totals.avg_jct_us * 1e-6;
}
static double p50_jct(const struct campaign_run *r)
{
	return (double)r->replay.p50_jct_us * 1e-6;
}
static double p95_jct(const struct campaign_run *r)
{
	return (double)r->replay.p95_jct_us * 1e-6;
}
static double makespan(const struct campaign_run *r)
{
	return (double)r->replay.totals.makespan_us * 1e-6;
}
static double busy(const struct campaign_run *r)
{
	return (double)r->replay.totals.busy_energy_mj * 1e-3;
}
static double fleet(const struct campaign_run *r)
{
	return (double)r->replay.totals.fleet_energy_mj * 1e-3;
}
static double util(const struct campaign_run *r)
{
	return r->replay.mean_util;
}

/* What was not predicted is NAN: "-" in the table, null in JSON, empty in CSV. */
static double predicted_jct(const struct campaign_run *r)
{
	return contender_predicts(r->who) ? r->replay.predicted.avg_jct_us * 1e-6 : NAN;
}

static double predicted_j(const struct campaign_run *r)
{
	return contender_predicts(r->who) ? (double)r->replay.predicted.busy_energy_mj * 1e-3 : NAN;
}

static double wall(const struct campaign_run *r)
{
	return r->plan_wall_s;
}
static double missed(const struct campaign_run *r)
{
	return r->deadlines_missed;
}

/* How far a prediction was off, in percent of what happened. */
static double off(double predicted, double real)
{
	return real > 0 ? 100 * (predicted / real - 1) : 0;
}

static double jct_off(const struct campaign_run *r)
{
	return off(predicted_jct(r), avg_jct(r));
}
static double energy_off(const struct campaign_run *r)
{
	return off(predicted_j(r), busy(r));
}

const struct figure campaign_figures[] = {
	{ "avg_jct_s", "avg JCT", FIGURE_SECONDS, -1, true, avg_jct },
	{ "p50_jct_s", "p50", FIGURE_SECONDS, -1, false, p50_jct },
	{ "p95_jct_s", "p95", FIGURE_SECONDS, -1, true, p95_jct },
	{ "makespan_s", "makespan", FIGURE_SECONDS, -1, true, makespan },
	{ "busy_energy_j", "busy energy", FIGURE_JOULES, -1, false, busy },
	{ "fleet_energy_j", "fleet energy", FIGURE_JOULES, -1, true, fleet },
	{ "mean_util", "util %", FIGURE_PART, 0, false, util },
	{ CAMPAIGN_MISSED, "missed", FIGURE_COUNT, -1, true, missed },
	{ "predicted.avg_jct_s", NULL, FIGURE_SECONDS, 0, false, predicted_jct },
	{ "predicted.busy_energy_j", NULL, FIGURE_JOULES, 0, false, predicted_j },
	{ "", "JCT off %", FIGURE_PERCENT, 2, false, jct_off },
	{ "", "energy off %", FIGURE_PERCENT, 2, false, energy_off },
	{ CAMPAIGN_TIMING, "plan", FIGURE_SECONDS, 0, false, wall },
	{ 0 }
};

bool campaign_shows(const struct figure *f, bool timing)
{
	return timing || strcmp(f->key, CAMPAIGN_TIMING) != 0;
}

/* A name that was not there before goes behind those that were. */
static void add_name(json_t *list, const char *name)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (strcmp(json_string_value(json_array_get(list, i)), name) == 0)
			return;
	json_array_append_new(list, json_string(name));
}

static bool sampled_workload(const struct hes_predictor_info *about, const char *workload)
{
	for (uint32_t i = 0; i < about->n_workloads; i++)
		if (strcmp(about->workloads[i], workload) == 0)
			return true;
	return false;
}

json_t *campaign_never_sampled(const struct campaign *c)
{
	json_t *types, *workloads;

	if (!c->predictor)
		return NULL;
	types = json_array();
	workloads = json_array();
	for (size_t g = 0; g < c->fleet->n; g++)
		if (!hes_predictor_knows(c->predictor, c->fleet->gpus[g].type->name))
			add_name(types, c->fleet->gpus[g].type->name);
	for (size_t i = 0; i < c->jobs->n; i++)
		if (!sampled_workload(hes_predictor_about(c->predictor), c->jobs->v[i].workload))
			add_name(workloads, c->jobs->v[i].workload);
	return json_pack("{s:o, s:o}", "gpu_types", types, "workloads", workloads);
}

static void csv_row(FILE *f, const struct campaign_run *r, bool timing)
{
	hes_csv_put(f, r->who->name);
	fputc(',', f);
	hes_csv_put(f, r->who->prefer);
	fprintf(f, ",%" PRIu64, r->seed);
	for (const struct figure *fig = campaign_figures; fig->key; fig++)
		if (*fig->key && campaign_shows(fig, timing))
			fprintf(f, isnan(fig->of(r)) ? "," : ",%.10g", fig->of(r));
	fputc('\n', f);
}

/* "predicted.avg_jct_s" is a column "predicted_avg_jct_s". */
static void csv_header(FILE *f, bool timing)
{
	fputs("policy,prefer,seed", f);
	for (const struct figure *fig = campaign_figures; fig->key; fig++) {
		if (!*fig->key || !campaign_shows(fig, timing))
			continue;
		fputc(',', f);
		for (const char *k = fig->key; *k; k++)
			fputc(*k == '.' ? '_' : *k, f);
	}
	fputc('\n', f);
}

int campaign_write_csv(const struct campaign *c, const char *path, bool timing, struct hes_err *err)
{
	struct hes_file out;
	int rc = hes_file_create(&out, path, err);

	if (rc)
		return rc;
	csv_header(out.f, timing);
	for (size_t i = 0; i < c->n_who * c->n_seeds; i++)
		csv_row(out.f, &c->runs[i], timing);
	return hes_file_commit(&out, err);
}

/* A key with a dot lands in an object of its own. */
static void put_figure(json_t *row, const struct figure *f, double v)
{
	json_t *number = isnan(v)                  ? json_null()
			 : f->unit == FIGURE_COUNT ? json_integer(llround(v))
						   : json_real(v),
	       *inner;
	const char *dot = strchr(f->key, '.');
	char outer[32];

	if (!dot) {
		json_object_set_new(row, f->key, number);
		return;
	}
	snprintf(outer, sizeof(outer), "%.*s", (int)(dot - f->key), f->key);
	inner = json_object_get(row, outer);
	if (!inner) {
		inner = json_object();
		json_object_set_new(row, outer, inner);
	}
	json_object_set_new(inner, dot + 1, number);
}

/* As in the report of a run. */
static json_t *learning_json(const struct learn_account *a)
{
	const struct learn_cost paid = learn_paid(a);
	json_int_t n = 0;

	for (size_t i = 0; i < LEARN_WHATS; i++)
		n += a->n[i];
	return json_pack("{s:I, s:f, s:f, s:I}", "experiments", n, "took_s", paid.seconds,
			 "energy_j", paid.joules, "iterations",
			 (json_int_t)llround(paid.iterations));
}

static json_t *run_json(const struct campaign_run *r, bool timing)
{
	json_t *row = json_pack("{s:s, s:s, s:I}", "name", r->who->name, "prefer", r->who->prefer,
				"seed", (json_int_t)r->seed);

	for (const struct figure *f = campaign_figures; f->key; f++)
		if (*f->key && campaign_shows(f, timing))
			put_figure(row, f, f->of(r));
	if (r->who->learns)
		json_object_set_new(row, "learning", learning_json(&r->learning));
	return row;
}

static json_t *fleet_json(const struct hes_fleet *f)
{
	json_t *gpus = json_array();

	for (size_t g = 0; g < f->n; g++)
		json_array_append_new(gpus, json_pack("{s:s, s:s}", "gpu", f->gpus[g].name,
						      "gpu_type", f->gpus[g].type->name));
	return json_pack("{s:s, s:o}", "name", f->name, "gpus", gpus);
}

/* What policies set for all jobs; left out where none does. */
static void put_settings(json_t *doc, const struct campaign *c)
{
	json_t *clocks = json_object(), *limits = json_object();

	for (size_t g = 0; g < c->fleet->n; g++) {
		const struct hes_gpu_type *type = c->fleet->gpus[g].type,
					  *lower = c->limited.gpus[g].type;

		json_object_set_new(clocks, type->name,
				    json_integer(hes_gpu_type_static_clock(type)));
		json_object_set_new(limits, lower->name, json_real(lower->power_limit_mw * 1e-3));
	}
	if (campaign_any(c, campaign_is_static))
		json_object_set(doc, "static_clocks_mhz", clocks);
	if (campaign_any(c, campaign_limits_power))
		json_object_set(doc, "power_limits_w", limits);
	json_decref(clocks);
	json_decref(limits);
}

json_t *campaign_profiling_json(const struct hes_store_profiling *p)
{
	return p->origins ? cli_known_profiling_json(p) : json_null();
}

json_t *campaign_json(const struct campaign *c, bool timing)
{
	const struct hes_gpu_type *types[APP_KNOWN_TYPES];
	json_t *rows = json_array(), *doc;
	char derived[400];

	hes_model_derived(c->model, types, hes_fleet_types(c->fleet, types, APP_KNOWN_TYPES),
			  derived, sizeof(derived));
	for (size_t i = 0; i < c->n_who * c->n_seeds; i++)
		json_array_append_new(rows, run_json(&c->runs[i], timing));
	doc = json_pack("{s:o, s:I, s:o, s:o?, s:s*, s:o*, s:o, s:o*}", "fleet",
			fleet_json(c->fleet), "jobs", (json_int_t)c->jobs->n, "jobs_known",
			cli_known_json(c->known), "never_sampled", campaign_never_sampled(c),
			"derived", *derived ? derived : NULL, "fitted",
			cli_fits_json(c->fits, c->n_fits), "policies", rows, "model_draws",
			campaign_draws_json(c));
	put_settings(doc, c);
	json_object_set_new(doc, "profiling", campaign_profiling_json(&c->profiling));
	return doc;
}
