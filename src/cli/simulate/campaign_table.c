/*
 * campaign_table.c - print the runs of a campaign for people: a table, and the sentence that says
 * who is best; see campaign.h. The table campaign_figures says what is shown.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plural.h"
#include "base/quantity.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "cli/inputs/inputs.h"
#include "cli/simulate/campaign_out.h"
#include "cli/terminal.h"

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

/* What learning took of the first seed's run; it is in that row, too. */
static void print_learning(const struct campaign *c)
{
	char label[2 * HES_NAME_MAX], took[HES_QUANTITY_MAX], joules[HES_QUANTITY_MAX];

	for (size_t w = 0; w < c->n_who; w++) {
		const struct learn_account *a = &campaign_runs_of(c, w)->learning;
		const struct learn_cost paid = learn_paid(a);

		if (!c->who[w].learns)
			continue;
		campaign_contender_label(&c->who[w], label, sizeof(label));
		printf("\nlearning, in the row of %s: %s of GPU time and %s more than without, "
		       "%.0f iterations; %" PRIu32 " clocks, %" PRIu32 " jobs alone, %" PRIu32
		       " sets\n",
		       label, hes_time_text(took, paid.seconds * 1e6),
		       hes_energy_text(joules, paid.joules * 1e3), paid.iterations,
		       a->n[LEARN_OF_CLOCK], a->n[LEARN_OF_NEWCOMER], a->n[LEARN_OF_SET]);
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
		print_learning(c);
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
