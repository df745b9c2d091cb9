/*
 * campaign_out.c - print the runs of a campaign as a table, JSON or CSV; see campaign.h. The table campaign_figures
 * says what is shown.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/plural.h"
#include "base/visible.h"
#include "cli/inputs/knowledge.h"
#include "cli/simulate/campaign.h"

#define TIMING_KEY "plan_wall_s"
#define MISSED_KEY "deadlines_missed"
#define FIRST_WIDTH 18
#define WIDTH       10

static double avg_jct(const struct campaign_run *r) { return r->replay.totals.avg_jct_us * 1e-6; }
static double p50_jct(const struct campaign_run *r) { return (double)r->replay.p50_jct_us * 1e-6; }
static double p95_jct(const struct campaign_run *r) { return (double)r->replay.p95_jct_us * 1e-6; }
static double makespan(const struct campaign_run *r) { return (double)r->replay.totals.makespan_us * 1e-6; }
static double busy_j(const struct campaign_run *r) { return (double)r->replay.totals.busy_energy_mj * 1e-3; }
static double busy_kj(const struct campaign_run *r) { return (double)r->replay.totals.busy_energy_mj * 1e-6; }
static double fleet_j(const struct campaign_run *r) { return (double)r->replay.totals.fleet_energy_mj * 1e-3; }
static double fleet_kj(const struct campaign_run *r) { return (double)r->replay.totals.fleet_energy_mj * 1e-6; }
static double util(const struct campaign_run *r) { return r->replay.mean_util; }
static double util_pct(const struct campaign_run *r) { return 100 * r->replay.mean_util; }

/* What was not predicted is NAN: "-" in the table, null in JSON, empty in CSV. */
static double predicted_jct(const struct campaign_run *r)
{
	return contender_predicts(r->who) ? r->replay.predicted.avg_jct_us * 1e-6 : NAN;
}

static double predicted_j(const struct campaign_run *r)
{
	return contender_predicts(r->who) ? (double)r->replay.predicted.busy_energy_mj * 1e-3 : NAN;
}

static double wall(const struct campaign_run *r) { return r->plan_wall_s; }
static double missed(const struct campaign_run *r) { return r->deadlines_missed; }

/* How far a prediction was off, in percent of what happened. */
static double off(double predicted, double real)
{
	return real > 0 ? 100 * (predicted / real - 1) : 0;
}

static double jct_off(const struct campaign_run *r) { return off(predicted_jct(r), avg_jct(r)); }
static double energy_off(const struct campaign_run *r) { return off(predicted_j(r), busy_j(r)); }

/* A column of the table alone has no key for programs, and the other way round. */
const struct figure campaign_figures[] = {
	{ "avg_jct_s", "avg JCT s", 1, -1, false, avg_jct },
	{ "p50_jct_s", "p50 s", 1, -1, false, p50_jct },
	{ "p95_jct_s", "p95 s", 1, -1, false, p95_jct },
	{ "makespan_s", "makespan s", 1, -1, false, makespan },
	{ "busy_energy_j", NULL, 0, 0, false, busy_j },
	{ "fleet_energy_j", NULL, 0, 0, false, fleet_j },
	{ "", "busy kJ", 1, -1, false, busy_kj },
	{ "", "fleet kJ", 1, -1, false, fleet_kj },
	{ "mean_util", NULL, 0, 0, false, util },
	{ "", "util %", 1, 0, false, util_pct },
	{ MISSED_KEY, "missed", 0, -1, true, missed },
	{ "predicted.avg_jct_s", NULL, 0, 0, false, predicted_jct },
	{ "predicted.busy_energy_j", NULL, 0, 0, false, predicted_j },
	{ "", "JCT off %", 1, 2, false, jct_off },
	{ "", "kJ off %", 1, 2, false, energy_off },
	{ TIMING_KEY, "plan s", 3, 0, false, wall },
	{ 0 }
};

static bool shown(const struct figure *f, bool timing)
{
	return timing || strcmp(f->key, TIMING_KEY) != 0;
}

/* Whether a figure is a column of the table: missed deadlines only where there are any to miss. */
static bool in_table(const struct campaign *c, const struct figure *f, bool timing)
{
	return f->head && shown(f, timing) && (strcmp(f->key, MISSED_KEY) != 0 || hes_jobs_due(c->jobs) > 0);
}

/* Over several seeds the mean of whole numbers has a digit behind the point, too. */
static int decimals(const struct campaign *c, const struct figure *f)
{
	return f->whole && c->n_seeds > 1 ? 1 : f->decimals;
}

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
	return (struct spread){ sum, c->n_seeds > 1 ? sqrt(squares / (double)(c->n_seeds - 1)) : 0 };
}

/* Smaller is better, whatever the figure's own sense. */
static double cost(const struct figure *f, double v)
{
	return f->better == 2 ? fabs(v) : v;
}

static double best_cost(const struct campaign *c, const struct figure *f)
{
	double best = INFINITY;

	for (size_t w = 0; w < c->n_who; w++)
		best = fmin(best, cost(f, over_seeds(c, w, f).mean));
	return best;
}

static void print_number(double v, int decimals)
{
	if (isnan(v))
		printf("%*s", WIDTH, "-");
	else
		printf("%*.*f", WIDTH, decimals, v);
}

/* Bold on a terminal where it is the column's best. */
static void print_cell(const struct campaign *c, size_t who, const struct figure *f, bool terminal)
{
	double v = over_seeds(c, who, f).mean;
	bool bold = terminal && f->better && c->n_who > 1 && cost(f, v) <= best_cost(c, f);

	fputs(bold ? "\033[1m " : " ", stdout);
	print_number(v, decimals(c, f));
	fputs(bold ? "\033[0m" : "", stdout);
}

static void print_spread(const struct campaign *c, size_t who, bool timing)
{
	bool any = false;

	for (const struct figure *f = campaign_figures; f->key; f++)
		any = any || (in_table(c, f, false) && over_seeds(c, who, f).sd > 0);
	if (!any)
		return;
	printf("%-*s", FIRST_WIDTH, "  +-");
	for (const struct figure *f = campaign_figures; f->key; f++)
		if (in_table(c, f, timing)) {
			putchar(' ');
			print_number(over_seeds(c, who, f).sd, decimals(c, f));
		}
	putchar('\n');
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

/* GPU types and workloads without a sample behind their predictions. NULL: nothing was predicted */
static json_t *never_sampled(const struct campaign *c)
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
	json_t *never = never_sampled(c);
	const json_t *types = json_object_get(never, "gpu_types"), *workloads = json_object_get(never, "workloads");

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

void campaign_print_table(const struct campaign *c, bool timing)
{
	bool terminal = isatty(STDOUT_FILENO);

	printf("%zu job%s%s on %zu GPU%s (", c->jobs->n, hes_s(c->jobs->n), arrivals(c->jobs), c->fleet->n, hes_s(c->fleet->n));
	hes_visible_put(stdout, 0, c->fleet->name);
	putchar(')');
	if (c->n_seeds > 1)
		printf(", mean over %zu seeds, below it the standard deviation", c->n_seeds);
	printf("\n\n%-*s", FIRST_WIDTH, "policy");
	for (const struct figure *f = campaign_figures; f->key; f++)
		if (in_table(c, f, timing))
			printf(" %*s", WIDTH, f->head);
	putchar('\n');
	for (size_t w = 0; w < c->n_who; w++) {
		char label[2 * HES_NAME_MAX];

		contender_label(&c->who[w], label, sizeof(label));
		hes_visible_put(stdout, FIRST_WIDTH, label);
		for (const struct figure *f = campaign_figures; f->key; f++)
			if (in_table(c, f, timing))
				print_cell(c, w, f, terminal);
		putchar('\n');
		print_spread(c, w, timing);
	}
	print_never_sampled(c);
	if (c->fits->n)
		putchar('\n');
	cli_fits_print(c->fits);
}

static void csv_row(FILE *f, const struct campaign_run *r, bool timing)
{
	hes_csv_put(f, r->who->name);
	fputc(',', f);
	hes_csv_put(f, r->who->prefer);
	fprintf(f, ",%" PRIu64, r->seed);
	for (const struct figure *fig = campaign_figures; fig->key; fig++)
		if (*fig->key && shown(fig, timing))
			fprintf(f, isnan(fig->of(r)) ? "," : ",%.10g", fig->of(r));
	fputc('\n', f);
}

/* "predicted.avg_jct_s" is a column "predicted_avg_jct_s". */
static void csv_header(FILE *f, bool timing)
{
	fputs("policy,prefer,seed", f);
	for (const struct figure *fig = campaign_figures; fig->key; fig++) {
		if (!*fig->key || !shown(fig, timing))
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
	json_t *number = isnan(v) ? json_null() : f->whole ? json_integer(llround(v)) : json_real(v), *inner;
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
		if (*f->key && shown(f, timing))
			put_figure(row, f, f->of(r));
	return row;
}

static json_t *fleet_json(const struct hes_fleet *f)
{
	json_t *gpus = json_array();

	for (size_t g = 0; g < f->n; g++)
		json_array_append_new(gpus, json_pack("{s:s, s:s}", "name", f->gpus[g].name,
						      "type", f->gpus[g].type->name));
	return json_pack("{s:s, s:o}", "name", f->name, "gpus", gpus);
}

json_t *campaign_json(const struct campaign *c, bool timing)
{
	const struct hes_gpu_type *types[CLI_MAX_TYPES];
	json_t *rows = json_array();
	char derived[400];

	hes_model_derived(c->model, types, hes_fleet_types(c->fleet, types, CLI_MAX_TYPES), derived, sizeof(derived));
	for (size_t i = 0; i < c->n_who * c->n_seeds; i++)
		json_array_append_new(rows, run_json(&c->runs[i], timing));
	return json_pack("{s:o, s:I, s:o?, s:s*, s:o*, s:o}", "fleet", fleet_json(c->fleet), "jobs", (json_int_t)c->jobs->n,
			 "never_sampled", never_sampled(c), "derived", *derived ? derived : NULL, "fitted", cli_fits_json(c->fits),
			 "policies", rows);
}
