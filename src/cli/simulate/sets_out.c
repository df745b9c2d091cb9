/*
 * sets_out.c - show policies on several sets of jobs or models as text and as JSON; see
 * campaign_out.h.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/campaign_compare.h"
#include "base/plural.h"
#include "base/quantity.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "cli/simulate/campaign_out.h"

static double jct_of(const struct hes_totals *t)
{
	return t->avg_jct_us * 1e-6;
}
static double makespan_of(const struct hes_totals *t)
{
	return (double)t->makespan_us * 1e-6;
}
static double busy_of(const struct hes_totals *t)
{
	return (double)t->busy_energy_mj * 1e-3;
}
static double fleet_of(const struct hes_totals *t)
{
	return (double)t->fleet_energy_mj * 1e-3;
}

static const struct compared_figure {
	const char *key, *head; /* head NULL: not in the table */
	double (*of)(const struct hes_totals *t);
	const char *(*text)(char out[HES_QUANTITY_MAX], double v);
	double unit; /* of text's argument */
} compared_figures[] = {
	{ "avg_jct_s", "avg JCT", jct_of, hes_time_text, 1e6 },
	{ "makespan_s", NULL, makespan_of, hes_time_text, 1e6 },
	{ "busy_energy_j", "busy energy", busy_of, hes_energy_text, 1e3 },
	{ "fleet_energy_j", "fleet energy", fleet_of, hes_energy_text, 1e3 },
};

#define N_FIGURES (sizeof(compared_figures) / sizeof(compared_figures[0]))

static void sets_heading(const struct campaign_sets *s)
{
	const struct hes_jobs *jobs = &s->v[0].jobs;
	bool burst = true;

	for (size_t i = 0; i < jobs->n; i++)
		burst = burst && !jobs->v[i].arrival_us;
	if (s->source) {
		printf("%zu draw%s of ", s->n, hes_s(s->n));
		hes_visible_put(stdout, 0, s->source);
	} else if (s->n > 1) {
		printf("%zu jobs files", s->n);
	} else {
		printf("%zu job%s", jobs->n, hes_s(jobs->n));
	}
	printf(", %s, on %zu GPU%s (", burst ? "all at time 0" : "as they arrive", s->v[0].fleet.n,
	       hes_s(s->v[0].fleet.n));
	hes_visible_put(stdout, 0, s->v[0].fleet.name);
	puts("), modelled");
}

static void policy_row(struct table *t, const struct compared *x, size_t who)
{
	char label[2 * HES_NAME_MAX], text[N_FIGURES][HES_QUANTITY_MAX], note[N_FIGURES][64];
	struct cell row[2 + N_FIGURES] = { cell_text(NULL, "policy", label) };
	size_t n = 1;

	campaign_contender_label(&x->c->who[who], label, sizeof(label));
	for (size_t i = 0; i < N_FIGURES; i++) {
		const struct compared_figure *f = &compared_figures[i];
		const struct compared_difference d = compared_difference(x, who, f->of);

		if (!f->head)
			continue;
		snprintf(note[i], sizeof(note[i]), "%+.1f", d.mean);
		if (isfinite(d.low))
			snprintf(note[i], sizeof(note[i]), "%+.1f (%+.1f to %+.1f)", d.mean, d.low,
				 d.high);
		row[n++] = cell_noted(
			cell_shown(cell_count(NULL, f->head, 0),
				   f->text(text[i], f->of(&x->rows[who].realised) * f->unit)),
			who == x->reference ? NULL : note[i]);
	}
	row[n++] = cell_shown(
		cell_count(NULL, "no more", (int64_t)compared_no_more(x, who, x->reference)),
		who == x->reference ? "" : NULL);
	table_row(t, row, n);
}

/* "joint:balanced: no policy of another method needs no more of both on any of 10 sets." */
static void print_dominated(const struct compared *x, size_t best)
{
	size_t others = 0;
	char label[2 * HES_NAME_MAX];

	campaign_contender_label(&x->c->who[best], label, sizeof(label));
	hes_visible_put(stdout, 0, label);
	printf(" is dominated by another method on ");
	for (size_t w = 0; w < x->n_who; w++) {
		const size_t n =
			compared_same_method(x, w, best) ? 0 : compared_no_more(x, w, best);

		if (!n)
			continue;
		campaign_contender_label(&x->c->who[w], label, sizeof(label));
		printf("%s%zu (", others++ ? ", " : "", n);
		hes_visible_put(stdout, 0, label);
		putchar(')');
	}
	printf("%s of the %zu sets of jobs.\n", others ? "" : "none", x->n);
}

static void print_comparison(const struct compared *x)
{
	const size_t best = hes_report_best(x->rows, x->n_who);
	char label[2 * HES_NAME_MAX], sentence[HES_REPORT_SENTENCE];
	struct table t = { 0 };

	campaign_contender_label(&x->c->who[x->reference], label, sizeof(label));
	fputs("Means over the sets of jobs. Next to each: the mean of its differences, set by set, "
	      "from\n",
	      stdout);
	hes_visible_put(stdout, 0, label);
	fputs(" in %, with the 95 % interval of that mean. no more: sets on which the policy "
	      "needs\nno more fleet energy and no more average completion time.\n\n",
	      stdout);
	for (size_t w = 0; w < x->n_who; w++)
		policy_row(&t, x, w);
	cli_print_table(&t, stdout, 0);
	if (hes_report_sentence(x->rows, x->n_who, sentence, sizeof(sentence))) {
		printf("\n%s.\n", sentence);
		print_dominated(x, best);
	}
}

int sets_print(const struct campaign_sets *s, const char *reference, struct hes_err *err)
{
	struct compared x;
	int rc = compared_init(&x, s, reference, err);

	if (!rc) {
		sets_heading(s);
		print_comparison(&x);
		campaign_print_settings(x.c);
		campaign_print_profiling(&s->profiling);
	}
	compared_finish(&x);
	return rc;
}

static json_t *difference_json(const struct compared *x, size_t who,
			       const struct compared_figure *f)
{
	const struct compared_difference d = compared_difference(x, who, f->of);

	return json_pack("{s:f, s:o, s:o}", "mean", d.mean, "low",
			 isfinite(d.low) ? json_real(d.low) : json_null(), "high",
			 isfinite(d.high) ? json_real(d.high) : json_null());
}

static json_t *policy_json(const struct compared *x, size_t who)
{
	json_t *means = json_object(), *change = json_object(), *by = json_object();

	for (size_t f = 0; f < N_FIGURES; f++) {
		const struct compared_figure *fig = &compared_figures[f];

		json_object_set_new(means, fig->key, json_real(fig->of(&x->rows[who].realised)));
		json_object_set_new(change, fig->key, difference_json(x, who, fig));
	}
	for (size_t w = 0; w < x->n_who; w++) {
		const size_t n = compared_same_method(x, w, who) ? 0 : compared_no_more(x, w, who);
		char label[2 * HES_NAME_MAX];

		campaign_contender_label(&x->c->who[w], label, sizeof(label));
		if (n)
			json_object_set_new(by, label, json_integer((json_int_t)n));
	}
	return json_pack("{s:s, s:s, s:o, s:o, s:I, s:o}", "name", x->c->who[who].name, "prefer",
			 x->c->who[who].prefer, "means", means, "change_pct", change,
			 "no_more_of_both", (json_int_t)compared_no_more(x, who, x->reference),
			 "dominated_by", by);
}

json_t *sets_json(const struct campaign_sets *s, const struct campaign_request *q, bool timing)
{
	struct compared x;
	json_t *sets = json_array(), *policies = json_array(), *doc = NULL;
	char label[2 * HES_NAME_MAX];

	for (size_t i = 0; i < s->n; i++) {
		json_t *set = campaign_json(&s->v[i].campaign, timing);

		json_object_set_new(set, "set", json_string(s->v[i].name));
		json_array_append_new(sets, set);
	}
	if (!compared_init(&x, s, q->reference, NULL)) {
		for (size_t w = 0; w < x.n_who; w++)
			json_array_append_new(policies, policy_json(&x, w));
		campaign_contender_label(&x.c->who[x.reference], label, sizeof(label));
		doc = json_pack("{s:O, s:{s:s, s:I, s:O, s:o}}", "sets", sets, "comparison",
				"reference", label, "sets", (json_int_t)s->n, "policies", policies,
				"profiling", campaign_profiling_json(&s->profiling));
	}
	if (doc && q->physics)
		json_object_set_new(doc, "physics", json_string(q->physics));
	json_decref(sets);
	json_decref(policies);
	compared_finish(&x);
	return doc;
}

static void put_label(const struct contender *w)
{
	char label[2 * HES_NAME_MAX];

	campaign_contender_label(w, label, sizeof(label));
	hes_visible_put(stdout, 0, label);
}

/* "+3", "0" */
static const char *pct_text(char out[16], long pct)
{
	snprintf(out, 16, pct ? "%+ld" : "%ld", pct);
	return out;
}

/* A median with "low to high" next to it. */
static struct cell range_cell(const char *heading, struct draws_range r, char text[16],
			      char note[40])
{
	char low[16], high[16];

	snprintf(note, 40, "%s to %s", pct_text(low, r.low), pct_text(high, r.high));
	return cell_noted(cell_shown(cell_count(NULL, heading, 0), pct_text(text, r.median)), note);
}

static void draws_row(struct table *t, const struct campaign *c, size_t who, size_t reference,
		      double *v)
{
	char label[2 * HES_NAME_MAX], text[2][16], note[2][40];

	campaign_contender_label(&c->who[who], label, sizeof(label));
	const struct cell row[] = {
		cell_text(NULL, "policy", label),
		range_cell("avg JCT", draws_change(c, who, reference, draws_time, v), text[0],
			   note[0]),
		range_cell("fleet energy", draws_change(c, who, reference, draws_energy, v),
			   text[1], note[1]),
		cell_count(NULL, "best", (int64_t)draws_best(c, who)),
	};
	TABLE_ROW(t, row);
}

/* "18 % less time (14 to 22 %)", "the same time (-1 to +2 %)" */
static void print_change(const char *noun, struct draws_range r)
{
	const bool less = r.median < 0;
	char low[16], high[16];

	if (!r.median) {
		printf("the same %s (%s to %s %%)", noun, pct_text(low, r.low),
		       pct_text(high, r.high));
		return;
	}
	printf("%ld %% %s %s (%ld to %ld %%)", labs(r.median), less ? "less" : "more", noun,
	       less ? -r.high : r.low, less ? -r.low : r.high);
}

static void print_sentence(const struct campaign *c, size_t best, size_t rival, double *v)
{
	put_label(&c->who[best]);
	printf(" needs ");
	print_change("average completion time", draws_change(c, best, rival, draws_time, v));
	printf(" and ");
	print_change("fleet energy", draws_change(c, best, rival, draws_energy, v));
	printf(" than ");
	put_label(&c->who[rival]);
	printf(" over the model's uncertainty; it is the best policy in %zu of %zu draw%s.\n",
	       draws_best(c, best), c->n_draws, hes_s(c->n_draws));
}

int campaign_print_draws(const struct campaign *c, struct hes_err *err)
{
	struct hes_report_policy *rows = campaign_rows(c);
	double *v = calloc(c->n_draws, sizeof(*v));
	size_t reference, best, rival;
	struct table t = { 0 };

	if (!rows || !v) {
		free(rows);
		free(v);
		return hes_fail(err, -ENOMEM, "out of memory");
	}
	reference = hes_report_reference(rows, c->n_who);
	printf("\n%zu draw%s of the GPU model's uncertain parameters. Difference from ", c->n_draws,
	       hes_s(c->n_draws));
	put_label(&c->who[reference]);
	puts(" in %:\nmedian, 5th to 95th percentile. best: draws with the least product of "
	     "both.\n");
	for (size_t w = 0; w < c->n_who; w++)
		draws_row(&t, c, w, reference, v);
	cli_print_table(&t, stdout, 0);
	best = hes_report_best(rows, c->n_who);
	rival = hes_report_rival(rows, c->n_who, best);
	if (rival < c->n_who) {
		putchar('\n');
		print_sentence(c, best, rival, v);
	}
	free(rows);
	free(v);
	return 0;
}

json_t *campaign_draws_json(const struct campaign *c)
{
	json_t *list = c->n_draws ? json_array() : NULL;

	for (size_t i = 0; i < c->n_draws; i++) {
		json_t *draw = json_array();

		for (size_t w = 0; w < c->n_who; w++) {
			const struct hes_totals *t = &c->draws[i * c->n_who + w];

			json_array_append_new(
				draw, json_pack("{s:s, s:s, s:f, s:f, s:f}", "name", c->who[w].name,
						"prefer", c->who[w].prefer, "avg_jct_s",
						t->avg_jct_us * 1e-6, "busy_energy_j",
						(double)t->busy_energy_mj * 1e-3, "fleet_energy_j",
						(double)t->fleet_energy_mj * 1e-3));
		}
		json_array_append_new(list, draw);
	}
	return list;
}
