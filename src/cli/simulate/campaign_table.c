/*
 * campaign_table.c - print the runs of a campaign for people: a table, and the sentence that says
 * who is best; see campaign.h. The table campaign_figures says what is shown.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plural.h"
#include "base/quantity.h"
#include "base/visible.h"
#include "cli/simulate/campaign_out.h"
#include "cli/inputs/inputs.h"
#include "cli/terminal.h"

#define BRIEF_WIDTH 80
#define MAX_COLUMNS 16

struct column {
	const struct figure *figure;
	int value, change; /* widths; change 0: none */
};

struct table {
	const struct campaign *c;
	struct hes_report_policy *rows; /* owned */
	size_t reference;               /* in rows */
	char **labels;                  /* owned, printable */
	int label;                      /* width */
	struct column columns[MAX_COLUMNS];
	size_t n;
	int gap;
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

static const char *cell_text(const struct campaign *c, const struct figure *f, double v,
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
static const char *change_text(const struct table *t, size_t who, const struct figure *f,
			       char out[HES_QUANTITY_MAX])
{
	const double base = over_seeds(t->c, t->reference, f).mean,
		     pct = 100 * (over_seeds(t->c, who, f).mean / base - 1);

	*out = '\0';
	if (who != t->reference && isfinite(pct))
		snprintf(out, HES_QUANTITY_MAX, lround(pct) ? "%+.0f" : "0", pct);
	return out;
}

static int wider(int width, const char *text)
{
	return (int)strlen(text) > width ? (int)strlen(text) : width;
}

static struct column measure_column(const struct table *t, const struct figure *f)
{
	struct column col = { .figure = f };
	const bool changes = f->brief && f->unit != FIGURE_COUNT && t->c->n_who > 1;
	char text[HES_QUANTITY_MAX];

	for (size_t w = 0; w < t->c->n_who; w++) {
		const struct spread s = over_seeds(t->c, w, f);

		col.value = wider(col.value, cell_text(t->c, f, s.mean, text));
		col.value = wider(col.value, cell_text(t->c, f, s.sd, text));
		if (changes)
			col.change = wider(col.change, change_text(t, w, f, text));
	}
	/* A heading may take the room of the changes, too. */
	if (col.value + (col.change ? 1 + col.change : 0) < (int)strlen(f->head))
		col.value = (int)strlen(f->head) - (col.change ? 1 + col.change : 0);
	return col;
}

/* Missed deadlines only where there are any to miss. */
static bool is_column(const struct campaign *c, const struct figure *f, bool wide, bool timing)
{
	return f->head && (wide || f->brief) && campaign_shows(f, timing) &&
	       (strcmp(f->key, CAMPAIGN_MISSED) != 0 || hes_jobs_due(c->jobs) > 0);
}

static int column_width(const struct table *t, size_t i)
{
	return t->gap + t->columns[i].value + (t->columns[i].change ? 1 + t->columns[i].change : 0);
}

static int measure_labels(struct table *t)
{
	t->labels = calloc(t->c->n_who + 1, sizeof(*t->labels));
	t->label = (int)strlen("policy");
	for (size_t w = 0; t->labels && w < t->c->n_who; w++) {
		char label[2 * HES_NAME_MAX];
		size_t size;
		FILE *f = open_memstream(&t->labels[w], &size);

		if (!f)
			return -ENOMEM;
		contender_label(&t->c->who[w], label, sizeof(label));
		hes_visible_put(f, 0, label);
		if (fclose(f))
			return -ENOMEM;
		t->label = wider(t->label, t->labels[w]);
	}
	return t->labels ? 0 : -ENOMEM;
}

static int table_init(struct table *t, const struct campaign *c, bool wide, bool timing,
		      struct hes_err *err)
{
	int width;

	*t = (struct table){ .c = c, .rows = campaign_rows(c), .gap = 2 };
	if (!t->rows || measure_labels(t))
		return hes_fail(err, -ENOMEM, "out of memory for the table");
	t->reference = hes_report_reference(t->rows, c->n_who);
	width = t->label;
	for (const struct figure *f = campaign_figures; f->key; f++)
		if (is_column(c, f, wide, timing)) {
			t->columns[t->n++] = measure_column(t, f);
			width += column_width(t, t->n - 1);
		}
	if (!wide && width > BRIEF_WIDTH)
		t->gap = 1;
	return 0;
}

static void table_finish(struct table *t)
{
	for (size_t w = 0; t->labels && w < t->c->n_who; w++)
		free(t->labels[w]);
	free(t->labels);
	free(t->rows);
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

/* Bold where it is the column's best. */
static void print_cell(const struct table *t, size_t who, const struct column *col, bool last)
{
	const bool bold = terminal_is_styled(STDOUT_FILENO) && is_best(t->c, who, col->figure);
	char text[HES_QUANTITY_MAX];

	printf("%*s%s%*s%s", t->gap, "", bold ? "\033[1m" : "", col->value,
	       cell_text(t->c, col->figure, over_seeds(t->c, who, col->figure).mean, text),
	       bold ? "\033[0m" : "");
	if (col->change && (!last || who != t->reference))
		printf(" %-*s", last ? 0 : col->change, change_text(t, who, col->figure, text));
}

static void print_spread(const struct table *t, size_t who, size_t from, size_t to)
{
	char text[HES_QUANTITY_MAX];
	bool any = false;

	for (size_t i = from; i < to; i++)
		any = any || (strcmp(t->columns[i].figure->key, CAMPAIGN_TIMING) != 0 &&
			      over_seeds(t->c, who, t->columns[i].figure).sd > 0);
	if (!any)
		return;
	printf("%-*s", t->label, "  +-");
	for (size_t i = from; i < to; i++) {
		const struct column *col = &t->columns[i];

		printf("%*s%*s", t->gap, "", col->value,
		       cell_text(t->c, col->figure, over_seeds(t->c, who, col->figure).sd, text));
		if (i + 1 < to)
			printf("%*s", col->change ? 1 + col->change : 0, "");
	}
	putchar('\n');
}

static void print_block(const struct table *t, size_t from, size_t to)
{
	printf("%-*s", t->label, "policy");
	for (size_t i = from; i < to; i++) {
		const struct column *col = &t->columns[i];
		const int head = wider(col->value, col->figure->head);

		printf("%*s%*s%*s", t->gap, "", head, col->figure->head,
		       i + 1 < to ? column_width(t, i) - t->gap - head : 0, "");
	}
	putchar('\n');
	for (size_t w = 0; w < t->c->n_who; w++) {
		printf("%-*s", t->label, t->labels[w]);
		for (size_t i = from; i < to; i++)
			print_cell(t, w, &t->columns[i], i + 1 == to);
		putchar('\n');
		print_spread(t, w, from, to);
	}
}

/* Columns that do not fit follow below, with the policies again. */
static void print_table(const struct table *t)
{
	const int most = terminal_width();

	for (size_t from = 0, to; from < t->n; from = to) {
		int width = t->label + column_width(t, from);

		for (to = from + 1; to < t->n && column_width(t, to) <= most - width; to++)
			width += column_width(t, to);
		if (from)
			putchar('\n');
		print_block(t, from, to);
	}
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

static void print_heading(const struct table *t)
{
	const struct campaign *c = t->c;

	printf("%zu job%s%s on %zu GPU%s (", c->jobs->n, hes_s(c->jobs->n), arrivals(c->jobs),
	       c->fleet->n, hes_s(c->fleet->n));
	hes_visible_put(stdout, 0, c->fleet->name);
	fputs("), modelled", stdout);
	if (c->n_seeds > 1)
		printf(", mean over %zu seeds, below it the standard deviation", c->n_seeds);
	if (c->n_who > 1)
		printf("\nNext to a value: its difference from %s, in %%", t->labels[t->reference]);
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
	const struct hes_gpu_type *types[HES_KNOWN_TYPES];
	size_t n = hes_fleet_types(c->fleet, types, HES_KNOWN_TYPES);

	if (campaign_any(c, policy_is_static)) {
		fputs("\nstatic clocks:", stdout);
		for (size_t i = 0; i < n; i++)
			printf("%s %s %u MHz", i ? "," : "", types[i]->name,
			       hes_gpu_type_static_clock(types[i]));
		putchar('\n');
	}
	if (campaign_any(c, policy_limits_power)) {
		n = hes_fleet_types(&c->limited, types, HES_KNOWN_TYPES);
		fputs("\npower limits of cap:", stdout);
		for (size_t i = 0; i < n; i++)
			printf("%s %s %.0f W", i ? "," : "", types[i]->name,
			       types[i]->power_limit_mw * 1e-3);
		putchar('\n');
	}
}

int campaign_print_table(const struct campaign *c, bool wide, bool timing, struct hes_err *err)
{
	struct table t;
	char sentence[HES_REPORT_SENTENCE];
	int rc = table_init(&t, c, wide, timing, err);

	if (!rc) {
		print_heading(&t);
		print_table(&t);
		campaign_print_settings(c);
		print_never_sampled(c);
		print_known(c);
		cli_fits_print(c->fits, c->n_fits);
		if (hes_report_sentence(t.rows, c->n_who, sentence, sizeof(sentence)))
			printf("\n%s.\n", sentence);
	}
	table_finish(&t);
	return rc;
}
