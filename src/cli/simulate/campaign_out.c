/*
 * campaign_out.c - the figures of a campaign's runs: as JSON, CSV and a table with the sentence
 * that says who is best; see campaign_out.h.
 */
#include "cli/simulate/campaign_out.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/known.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/plural.h"
#include "base/quantity.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "cli/inputs/inputs.h"
#include "cli/terminal.h"

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

static json_t *run_json(const struct campaign_run *r, bool timing)
{
	json_t *row = json_pack("{s:s, s:s, s:I}", "name", r->who->name, "prefer", r->who->prefer,
				"seed", (json_int_t)r->seed);

	for (const struct figure *f = campaign_figures; f->key; f++)
		if (*f->key && campaign_shows(f, timing))
			put_figure(row, f, f->of(r));
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

#define MAX_COLUMNS 16

/* What is shown of a campaign. */
struct shown {
	const struct campaign *c;
	struct hes_report_policy *rows; /* owned */
	size_t reference;               /* in rows */
	const struct figure *columns[MAX_COLUMNS];
	size_t n;
};

struct spread {
	double mean, sd;
};

static struct spread over_seeds(const struct campaign *c, size_t who, const struct figure *f)
{
	const struct campaign_run *runs = campaign_runs_of(c, who);
	double sum = 0, squares = 0;

	for (size_t i = 0; i < c->n_seeds; i++)
		sum += f->of(&runs[i]);
	sum /= (double)c->n_seeds;
	for (size_t i = 0; i < c->n_seeds; i++)
		squares += (f->of(&runs[i]) - sum) * (f->of(&runs[i]) - sum);
	return (struct spread){ sum,
				c->n_seeds > 1 ? sqrt(squares / (double)(c->n_seeds - 1)) : 0 };
}

static const char *figure_text(const struct campaign *c, const struct figure *f, double v,
			       char out[HES_QUANTITY_MAX])
{
	strcpy(out, "-");
	if (!isfinite(v))
		return out;
	if (f->unit == FIGURE_SECONDS)
		return hes_time_text(out, v * 1e6);
	if (f->unit == FIGURE_JOULES)
		return hes_energy_text(out, v * 1e3);
	/* Over several seeds the mean of whole numbers has a digit behind the point, too. */
	snprintf(out, HES_QUANTITY_MAX, "%.*f", f->unit == FIGURE_COUNT && c->n_seeds == 1 ? 0 : 1,
		 f->unit == FIGURE_PART ? 100 * v : v);
	return out;
}

/* "-13", "+120" %; nothing for the reference. */
static const char *change_text(const struct shown *t, size_t who, const struct figure *f,
			       char out[HES_QUANTITY_MAX])
{
	const double base = over_seeds(t->c, t->reference, f).mean,
		     pct = 100 * (over_seeds(t->c, who, f).mean / base - 1);

	*out = '\0';
	if (who != t->reference && isfinite(pct))
		snprintf(out, HES_QUANTITY_MAX, lround(pct) ? "%+.0f" : "0", pct);
	return out;
}

/* Missed deadlines only where there are any to miss. */
static bool is_column(const struct campaign *c, const struct figure *f, bool wide, bool timing)
{
	return f->head && (wide || f->brief) && campaign_shows(f, timing) &&
	       (strcmp(f->key, CAMPAIGN_MISSED) != 0 || hes_jobs_due(c->jobs) > 0);
}

static int shown_init(struct shown *t, const struct campaign *c, bool wide, bool timing,
		      struct hes_err *err)
{
	*t = (struct shown){ .c = c, .rows = campaign_rows(c) };
	if (!t->rows)
		return hes_fail(err, -ENOMEM, "out of memory for the table");
	t->reference = hes_report_reference(t->rows, c->n_who);
	for (const struct figure *f = campaign_figures; f->key; f++)
		if (is_column(c, f, wide, timing))
			t->columns[t->n++] = f;
	return 0;
}

/* Smaller is better, whatever the figure's own sense. */
static double cost(const struct figure *f, double v)
{
	return f->better == 2 ? fabs(v) : v;
}

static bool is_best(const struct campaign *c, size_t who, const struct figure *f)
{
	double best = INFINITY;

	for (size_t w = 0; w < c->n_who; w++)
		best = fmin(best, cost(f, over_seeds(c, w, f).mean));
	return f->better && c->n_who > 1 && cost(f, over_seeds(c, who, f).mean) <= best;
}

/* The best of a column is bold, and next to a value is its difference from the reference. */
static void policy_row(struct table *out, const struct shown *t, size_t who)
{
	char label[2 * HES_NAME_MAX], text[MAX_COLUMNS][HES_QUANTITY_MAX],
		change[MAX_COLUMNS][HES_QUANTITY_MAX];
	struct cell row[1 + MAX_COLUMNS] = { cell_text(NULL, "policy", label) };

	campaign_contender_label(&t->c->who[who], label, sizeof(label));
	for (size_t i = 0; i < t->n; i++) {
		const struct figure *f = t->columns[i];
		struct cell *c = &row[1 + i];

		*c = cell_shown(cell_count(NULL, f->head, 0),
				figure_text(t->c, f, over_seeds(t->c, who, f).mean, text[i]));
		c->bold = terminal_is_styled(STDOUT_FILENO) && is_best(t->c, who, f);
		if (f->brief && f->unit != FIGURE_COUNT && t->c->n_who > 1)
			c->note = change_text(t, who, f, change[i]);
	}
	table_row(out, row, 1 + t->n);
}

static void spread_row(struct table *out, const struct shown *t, size_t who)
{
	struct cell row[1 + MAX_COLUMNS] = { cell_text(NULL, "policy", "  +-") };
	char text[MAX_COLUMNS][HES_QUANTITY_MAX];
	bool any = false;

	for (size_t i = 0; i < t->n; i++) {
		const struct figure *f = t->columns[i];
		const double sd = over_seeds(t->c, who, f).sd;

		any = any || (strcmp(f->key, CAMPAIGN_TIMING) != 0 && sd > 0);
		row[1 + i] =
			cell_shown(cell_count(NULL, f->head, 0), figure_text(t->c, f, sd, text[i]));
	}
	if (any)
		table_row(out, row, 1 + t->n);
}

static void print_table(const struct shown *t)
{
	struct table out = { 0 };

	for (size_t w = 0; w < t->c->n_who; w++) {
		policy_row(&out, t, w);
		spread_row(&out, t, w);
	}
	cli_print_table(&out, stdout, 0);
}

static void print_names(const char *what, const json_t *names)
{
	for (size_t i = 0; i < json_array_size(names); i++) {
		fputs(i ? ", " : what, stdout);
		hes_visible_put(stdout, 0, json_string_value(json_array_get(names, i)));
	}
}

/* One line, if there are any. */
static void print_never_sampled(const struct campaign *c)
{
	json_t *never = campaign_never_sampled(c);
	const json_t *types = json_object_get(never, "gpu_types"),
		     *workloads = json_object_get(never, "workloads");

	if (json_array_size(types) + json_array_size(workloads) > 0) {
		fputs("\nextrapolated, for the predictor was never trained on them:", stdout);
		print_names(" GPU type ", types);
		print_names(json_array_size(types) ? "; workload " : " workload ", workloads);
		putchar('\n');
	}
	json_decref(never);
}

static const char *arrivals(const struct hes_jobs *jobs)
{
	for (size_t i = 0; i < jobs->n; i++)
		if (jobs->v[i].arrival_us)
			return ", as they arrive,";
	return jobs->n > 1 ? ", all at time 0," : "";
}

static void print_heading(const struct shown *t)
{
	const struct campaign *c = t->c;
	char label[2 * HES_NAME_MAX];

	printf("%zu job%s%s on %zu GPU%s (", c->jobs->n, hes_s(c->jobs->n), arrivals(c->jobs),
	       c->fleet->n, hes_s(c->fleet->n));
	hes_visible_put(stdout, 0, c->fleet->name);
	fputs("), modelled", stdout);
	if (c->n_seeds > 1)
		printf(", mean over %zu seeds, below it the standard deviation", c->n_seeds);
	if (c->n_who > 1) {
		campaign_contender_label(&c->who[t->reference], label, sizeof(label));
		fputs("\nNext to a value: its difference from ", stdout);
		hes_visible_put(stdout, 0, label);
		fputs(", in %", stdout);
	}
	fputs("\n\n", stdout);
}

/* That all are known networks is what "modelled" says. */
static void print_known(const struct campaign *c)
{
	if (c->known[HES_KNOWN_NETWORK] < c->jobs->n) {
		putchar('\n');
		cli_known_print(stdout, c->known);
	}
	if (c->known[HES_KNOWN_NETWORK] < c->jobs->n || c->n_fits)
		putchar('\n');
}

void campaign_print_settings(const struct campaign *c)
{
	const struct hes_gpu_type *types[APP_KNOWN_TYPES];
	size_t n = hes_fleet_types(c->fleet, types, APP_KNOWN_TYPES);

	if (campaign_any(c, campaign_is_static)) {
		fputs("\nstatic clocks:", stdout);
		for (size_t i = 0; i < n; i++)
			printf("%s %s %u MHz", i ? "," : "", types[i]->name,
			       hes_gpu_type_static_clock(types[i]));
		putchar('\n');
	}
	if (campaign_any(c, campaign_limits_power)) {
		n = hes_fleet_types(&c->limited, types, APP_KNOWN_TYPES);
		fputs("\npower limits of cap:", stdout);
		for (size_t i = 0; i < n; i++)
			printf("%s %s %.0f W", i ? "," : "", types[i]->name,
			       types[i]->power_limit_mw * 1e-3);
		putchar('\n');
	}
}

void campaign_print_profiling(const struct hes_store_profiling *p)
{
	char text[CLI_PROFILING_MAX];

	printf("\nprofiling, once, in none of the rows: %s\n",
	       p->origins ? cli_known_profiling_text(text, p)
			  : "not measured, as the profiles are those of the GPU model");
}

int campaign_print_table(const struct campaign *c, bool wide, bool timing, struct hes_err *err)
{
	struct shown t;
	char sentence[HES_REPORT_SENTENCE];
	int rc = shown_init(&t, c, wide, timing, err);

	if (!rc) {
		print_heading(&t);
		print_table(&t);
		campaign_print_settings(c);
		campaign_print_profiling(&c->profiling);
		print_never_sampled(c);
		print_known(c);
		cli_fits_print(c->fits, c->n_fits);
		if (hes_report_sentence(t.rows, c->n_who, sentence, sizeof(sentence)))
			printf("\n%s.\n", sentence);
	}
	free(t.rows);
	return rc;
}
