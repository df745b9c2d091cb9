/*
 * sets_compared.c - policies on several sets of jobs: means, the differences from a reference set
 * by set, and on how many sets a policy needs no more energy and time; see job_sets.h.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "base/quantity.h"
#include "base/visible.h"
#include "cli/simulate/job_sets.h"

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

struct compared {
	const struct campaign *c; /* of the first set: its contenders */
	size_t n;                 /* sets */
	size_t n_who;
	struct hes_totals *v;           /* [set * n_who + who], means over the seeds; owned */
	struct hes_report_policy *rows; /* means over the sets; owned */
	size_t reference;
};

static void compared_finish(struct compared *x)
{
	free(x->v);
	free(x->rows);
}

static void compared_means(struct compared *x)
{
	const double n = (double)x->n;

	for (size_t w = 0; w < x->n_who; w++) {
		double jct = 0, makespan = 0, busy = 0, fleet = 0;

		for (size_t i = 0; i < x->n; i++) {
			const struct hes_totals *t = &x->v[i * x->n_who + w];

			jct += t->avg_jct_us / n;
			makespan += (double)t->makespan_us / n;
			busy += (double)t->busy_energy_mj / n;
			fleet += (double)t->fleet_energy_mj / n;
		}
		x->rows[w].realised =
			(struct hes_totals){ jct, llround(makespan), (uint64_t)llround(busy),
					     (uint64_t)llround(fleet) };
	}
}

static int compared_init(struct compared *x, const struct job_sets *s, const char *reference,
			 struct hes_err *err)
{
	const struct campaign *c = &s->v[0].campaign;

	*x = (struct compared){ .c = c,
				.n = s->n,
				.n_who = c->n_who,
				.v = calloc(s->n * c->n_who + 1, sizeof(*x->v)),
				.rows = campaign_rows(c) };
	if (!x->v || !x->rows)
		return hes_fail(err, -ENOMEM, "out of memory for the comparison");
	for (size_t i = 0; i < s->n; i++) {
		struct hes_report_policy *rows = campaign_rows(&s->v[i].campaign);

		if (!rows)
			return hes_fail(err, -ENOMEM, "out of memory for the comparison");
		for (size_t w = 0; w < x->n_who; w++)
			x->v[i * x->n_who + w] = rows[w].realised;
		free(rows);
	}
	compared_means(x);
	x->reference = reference ? (size_t)campaign_find(c, reference)
				 : hes_report_reference(x->rows, x->n_who);
	return 0;
}

static double change_pct(const struct compared *x, size_t set, size_t who,
			 double (*of)(const struct hes_totals *))
{
	const struct hes_totals *t = &x->v[set * x->n_who];

	return 100 * (of(&t[who]) / of(&t[x->reference]) - 1);
}

/* The 97.5th percentile of Student's t: a table, then the expansion of Cornish and Fisher. */
static double student_t(size_t freedom)
{
	static const double few[] = { 12.706, 4.303, 3.182, 2.776 };
	const double z = 1.959964, n = (double)freedom, z3 = z * z * z, z5 = z3 * z * z;

	if (freedom <= 4)
		return few[freedom - 1];
	return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
	       (3 * z5 * z * z + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}

struct difference {
	double mean, low, high; /* %; low and high NAN with one set */
};

/* Mean of the differences from the reference on each set, with its 95 % interval. */
static struct difference difference(const struct compared *x, size_t who,
				    double (*of)(const struct hes_totals *))
{
	const double n = (double)x->n;
	double mean = 0, squares = 0, half = NAN;

	for (size_t i = 0; i < x->n; i++)
		mean += change_pct(x, i, who, of) / n;
	for (size_t i = 0; i < x->n; i++)
		squares += pow(change_pct(x, i, who, of) - mean, 2);
	if (x->n > 1)
		half = student_t(x->n - 1) * sqrt(squares / (n - 1) / n);
	return (struct difference){ mean, mean - half, mean + half };
}

/* Sets on which a contender needs no more fleet energy and no more completion time than another. */
static size_t no_more_of_both(const struct compared *x, size_t who, size_t than)
{
	size_t n = 0;

	for (size_t i = 0; i < x->n; i++) {
		const struct hes_totals *t = &x->v[i * x->n_who];

		n += t[who].avg_jct_us <= t[than].avg_jct_us &&
		     t[who].fleet_energy_mj <= t[than].fleet_energy_mj;
	}
	return n;
}

static bool same_method(const struct compared *x, size_t a, size_t b)
{
	return strcmp(x->c->who[a].name, x->c->who[b].name) == 0;
}

void job_sets_heading(const struct job_sets *s)
{
	const struct hes_jobs *jobs = &s->v[0].jobs;
	bool burst = true;

	for (size_t i = 0; i < jobs->n; i++)
		burst = burst && !jobs->v[i].arrival_us;
	if (s->source) {
		printf("%zu draw%s of ", s->n, hes_s(s->n));
		hes_visible_put(stdout, 0, s->source);
	} else {
		printf("%zu jobs file%s", s->n, hes_s(s->n));
	}
	printf(", %s, on %zu GPU%s (", burst ? "all at time 0" : "as they arrive", s->v[0].fleet.n,
	       hes_s(s->v[0].fleet.n));
	hes_visible_put(stdout, 0, s->v[0].fleet.name);
	puts("), modelled");
}

static void print_difference(const struct compared *x, size_t who, const struct compared_figure *f)
{
	const struct difference d = difference(x, who, f->of);
	char text[HES_QUANTITY_MAX], range[40] = "";

	f->text(text, f->of(&x->rows[who].realised) * f->unit);
	if (who == x->reference) {
		printf("  %11s %5s %-14s", text, "", "");
		return;
	}
	if (isfinite(d.low))
		snprintf(range, sizeof(range), "%+.1f to %+.1f", d.low, d.high);
	printf("  %11s %+5.1f %-14s", text, d.mean, range);
}

/* "joint:balanced: no policy of another method needs no more of both on any of 10 sets." */
static void print_dominated(const struct compared *x, size_t best)
{
	size_t others = 0;
	char label[2 * HES_NAME_MAX];

	contender_label(&x->c->who[best], label, sizeof(label));
	hes_visible_put(stdout, 0, label);
	printf(" is dominated by another method on ");
	for (size_t w = 0; w < x->n_who; w++) {
		const size_t n = same_method(x, w, best) ? 0 : no_more_of_both(x, w, best);

		if (!n)
			continue;
		contender_label(&x->c->who[w], label, sizeof(label));
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
	int width = (int)strlen("policy");

	for (size_t w = 0; w < x->n_who; w++) {
		contender_label(&x->c->who[w], label, sizeof(label));
		width = (int)strlen(label) > width ? (int)strlen(label) : width;
	}
	contender_label(&x->c->who[x->reference], label, sizeof(label));
	fputs("Means over the sets of jobs. Next to each: the mean of its differences, set by set, "
	      "from\n",
	      stdout);
	hes_visible_put(stdout, 0, label);
	printf(" in %%, with the 95 %% interval of that mean. no more: sets on which the policy "
	       "needs\nno more fleet energy and no more average completion time.\n\n%-*s",
	       width, "policy");
	for (size_t f = 0; f < N_FIGURES; f++)
		if (compared_figures[f].head)
			printf("  %11s %5s %-14s", compared_figures[f].head, "", "");
	puts("  no more");
	for (size_t w = 0; w < x->n_who; w++) {
		contender_label(&x->c->who[w], label, sizeof(label));
		hes_visible_put(stdout, 0, label);
		printf("%*s", width - (int)strlen(label), "");
		for (size_t f = 0; f < N_FIGURES; f++)
			if (compared_figures[f].head)
				print_difference(x, w, &compared_figures[f]);
		if (w != x->reference)
			printf("  %7zu", no_more_of_both(x, w, x->reference));
		putchar('\n');
	}
	if (hes_report_sentence(x->rows, x->n_who, sentence, sizeof(sentence))) {
		printf("\n%s.\n", sentence);
		print_dominated(x, best);
	}
}

int job_sets_print(const struct job_sets *s, const struct simulate_opts *o, struct hes_err *err)
{
	struct compared x;
	int rc = compared_init(&x, s, o->reference, err);

	if (!rc) {
		job_sets_heading(s);
		print_comparison(&x);
		campaign_print_settings(x.c);
	}
	compared_finish(&x);
	return rc;
}

static json_t *difference_json(const struct compared *x, size_t who,
			       const struct compared_figure *f)
{
	const struct difference d = difference(x, who, f->of);

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
		const size_t n = same_method(x, w, who) ? 0 : no_more_of_both(x, w, who);
		char label[2 * HES_NAME_MAX];

		contender_label(&x->c->who[w], label, sizeof(label));
		if (n)
			json_object_set_new(by, label, json_integer((json_int_t)n));
	}
	return json_pack("{s:s, s:s, s:o, s:o, s:I, s:o}", "name", x->c->who[who].name, "prefer",
			 x->c->who[who].prefer, "means", means, "change_pct", change,
			 "no_more_of_both", (json_int_t)no_more_of_both(x, who, x->reference),
			 "dominated_by", by);
}

json_t *job_sets_json(const struct job_sets *s, const struct simulate_opts *o)
{
	struct compared x;
	json_t *sets = json_array(), *policies = json_array(), *doc = NULL;
	char label[2 * HES_NAME_MAX];

	for (size_t i = 0; i < s->n; i++) {
		json_t *set = campaign_json(&s->v[i].campaign, !o->no_timing);

		json_object_set_new(set, "set", json_string(s->v[i].name));
		json_array_append_new(sets, set);
	}
	if (!compared_init(&x, s, o->reference, NULL)) {
		for (size_t w = 0; w < x.n_who; w++)
			json_array_append_new(policies, policy_json(&x, w));
		contender_label(&x.c->who[x.reference], label, sizeof(label));
		doc = json_pack("{s:O, s:{s:s, s:I, s:O}}", "sets", sets, "comparison", "reference",
				label, "sets", (json_int_t)s->n, "policies", policies);
	}
	if (doc && o->physics)
		json_object_set_new(doc, "physics", json_string(o->physics));
	json_decref(sets);
	json_decref(policies);
	compared_finish(&x);
	return doc;
}
