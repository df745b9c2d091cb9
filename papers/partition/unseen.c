/*
 * unseen.c - figures 3 and 4: the choice of split for pairs with a workload that is in no pair of
 * the training rows.
 *
 * What is compared is true throughput per watt as a part of the oracle's, the best of the nine
 * splits.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chart.h"
#include "study.h"

#define MOST_LOSS  1.5 /* percent below the oracle on average: the paper's */
#define HIGH       0.5 /* use that counts as high: the paper's */
#define PAPER_GAIN 35.0
#define PAPER_MOST 60.6

enum { UNSEEN_PAPER, UNSEEN_CORRECTED, UNSEEN_METHODS };

static const int method_of[UNSEEN_METHODS] = { METHOD_PAPER_ET, METHOD_CORRECTED };

/* Sums over pairs. */
struct outcome {
	double chosen[UNSEEN_METHODS], equal;
	size_t edge; /* pairs whose oracle is 90/10 or 10/90 */
	size_t n;
};

enum { GROUPS = 6 };

/* Classes of the two jobs; the paper shows the first five. */
static const struct {
	const char *name;
	int low, high;                 /* classes of the two jobs, the lower first */
	double paper_gain, paper_edge; /* percent; NaN: not given */
} groups[GROUPS] = {
	{ "1: Hc Hm x Hc Hm", 2, 2, 65.7, NAN }, { "2: Hc Lm x Hc Lm", 1, 1, 38, 82 },
	{ "3: Hc Hm x Lc Lm", 0, 2, NAN, NAN },  { "4: Hc Lm x Lc Lm", 0, 1, NAN, 92 },
	{ "5: Lc Lm x Lc Lm", 0, 0, 0.8, NAN },  { "-: Hc Hm x Hc Lm", 1, 2, NAN, NAN },
};

/* Of the pairs of one workload that was left out. */
struct left_out {
	size_t job;
	struct outcome all, group[GROUPS];
};

struct results {
	const struct study *s;
	const struct testbed *t;
	struct left_out job[TESTBED_JOBS]; /* by falling SM activity; [n] */
	size_t n;
	struct outcome group[GROUPS]; /* of all */
};

static double use_of(const struct testbed *t, size_t job, enum hes_metric m)
{
	return t->profile[job]->at[t->profile[job]->n - 1].metric[m];
}

/* 2: high compute, high memory; 1: high compute; 0: low compute. */
static int class_of(const struct testbed *t, size_t job)
{
	if (use_of(t, job, HES_METRIC_SM) < HIGH)
		return 0;
	return use_of(t, job, HES_METRIC_DRAM) < HIGH ? 1 : 2;
}

static size_t group_of(const struct testbed *t, size_t pair)
{
	const struct co_run_set *s = &t->pairs.v[pair * TESTBED_SPLITS];
	int a = class_of(t, s->job[0]), b = class_of(t, s->job[1]);
	size_t g = 0;

	while (g < GROUPS - 1 &&
	       (groups[g].low != (a < b ? a : b) || groups[g].high != (a < b ? b : a)))
		g++;
	return g;
}

static void add_pair(const struct testbed *t, struct predicted *const p[UNSEEN_METHODS],
		     size_t pair, struct outcome *to)
{
	size_t best = testbed_best_split(t, pair);
	double oracle = testbed_per_watt(t, pair, best);

	for (int k = 0; k < UNSEEN_METHODS; k++)
		to->chosen[k] += testbed_per_watt(t, pair, study_best_split(p[k], pair)) / oracle;
	to->equal += testbed_per_watt(t, pair, TESTBED_EQUAL) / oracle;
	to->edge += best == 0 || best == TESTBED_SPLITS - 1;
	to->n++;
}

/* Train without the pairs of one workload, and choose splits for all of them. */
static int leave_out(void *ctx, size_t i, struct hes_err *err)
{
	struct results *r = ctx;
	struct left_out *out = &r->job[i];
	const struct testbed *t = r->t;
	struct predicted *p[UNSEEN_METHODS] = { NULL };
	bool *use = malloc(t->pairs.n * sizeof(*use));
	int rc = use ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu rows", t->pairs.n);

	for (size_t k = 0; k < t->pairs.n && !rc; k++)
		use[k] = !testbed_pair_has(t, k / TESTBED_SPLITS, out->job);
	for (int k = 0; k < UNSEEN_METHODS && !rc; k++) {
		p[k] = malloc(t->pairs.n * sizeof(*p[k]));
		rc = p[k] ? study_learn(r->s, t, method_of[k], use, p[k], err)
			  : hes_fail(err, -ENOMEM, "out of memory for %zu rows", t->pairs.n);
	}
	for (size_t pair = 0; pair < t->n_pairs && !rc; pair++)
		if (testbed_pair_has(t, pair, out->job)) {
			add_pair(t, p, pair, &out->all);
			add_pair(t, p, pair, &out->group[group_of(t, pair)]);
		}
	for (int k = 0; k < UNSEEN_METHODS; k++)
		free(p[k]);
	free(use);
	return rc;
}

static void add_outcome(struct outcome *to, const struct outcome *o)
{
	for (int k = 0; k < UNSEEN_METHODS; k++)
		to->chosen[k] += o->chosen[k];
	to->equal += o->equal;
	to->edge += o->edge;
	to->n += o->n;
}

static double gain(const struct outcome *o, int k)
{
	return 100 * (o->chosen[k] / o->equal - 1);
}

static void print_row(FILE *f, const char *name, const struct outcome *o, const char *format)
{
	double n = (double)o->n;

	fprintf(f, format, name, o->n, o->chosen[UNSEEN_PAPER] / n, o->chosen[UNSEEN_CORRECTED] / n,
		o->equal / n, gain(o, UNSEEN_PAPER), gain(o, UNSEEN_CORRECTED),
		100 * (double)o->edge / n);
}

#define ROW    "%-20s %5zu %9.4f %9.4f %9.4f %8.1f %8.1f %8.0f"
#define TITLES "%-20s %5s %9s %9s %9s %8s %8s %8s"
#define CSV    "\"%s\",%zu,%.5f,%.5f,%.5f,%.2f,%.2f,%.1f\n"
#define HEADER                                                                                    \
	"pairs,paper_method_of_oracle,corrected_of_oracle,equal_of_oracle,paper_method_gain_pct," \
	"corrected_gain_pct,oracle_90_10_pct"

static void print_titles(const char *first)
{
	printf(TITLES "\n", first, "pairs", "paper's", "corrected", "equal", "gain", "gain",
	       "90/10");
	printf(TITLES "\n", "", "", "method", "", "split", "paper's", "corr.", "oracle %");
}

static void claim_fwt(struct study *s, const struct outcome *o)
{
	study_claim(s, "Figure 3", "gain of fwt-samples, %", 14.7, gain(o, UNSEEN_PAPER), 1);
	study_claim(s, "Figure 3", "oracle at 90/10 with fwt-samples, %", 55,
		    100 * (double)o->edge / (double)o->n, 0);
}

static int print_jobs(struct study *s, const struct results *r, struct hes_err *err)
{
	FILE *f = study_csv(s, "fig3.csv", "workload," HEADER, err);
	double mean[UNSEEN_METHODS] = { 0 }, most[UNSEEN_METHODS] = { 0 },
	       chosen[UNSEEN_METHODS] = { 0 }, least = INFINITY;

	if (!f)
		return -EIO;
	printf("\nFigure 3: a workload in no training pair; throughput per watt as a part of the "
	       "oracle's, gain over the equal split, %%\n");
	print_titles("workload, by use");
	for (size_t i = 0; i < r->n; i++) {
		const struct outcome *o = &r->job[i].all;

		print_row(stdout, paper_jobs[r->job[i].job].name, o, ROW "\n");
		print_row(f, paper_jobs[r->job[i].job].name, o, CSV);
		for (int k = 0; k < UNSEEN_METHODS; k++) {
			mean[k] += gain(o, k) / (double)r->n;
			most[k] = fmax(most[k], gain(o, k));
			chosen[k] += o->chosen[k] / (double)o->n / (double)r->n;
		}
		least = fmin(least, gain(o, UNSEEN_PAPER));
		if (strcmp(paper_jobs[r->job[i].job].name, "fwt-samples") == 0)
			claim_fwt(s, o);
	}
	for (int k = 0; k < UNSEEN_METHODS; k++) {
		printf("%s: gain %.1f %% on average (the paper's: %.0f), at most %.1f (%.1f), %.2f "
		       "%% below the oracle (%.1f)\n",
		       method_names[method_of[k]], mean[k], PAPER_GAIN, most[k], PAPER_MOST,
		       100 * (1 - chosen[k]), MOST_LOSS);
		if (k == UNSEEN_CORRECTED)
			study_check(s, "  below the oracle, %", 100 * (1 - chosen[k]), MOST_LOSS);
	}
	study_claim_text(s, least > 0 ? AT_LEAST : MISSED, "Figure 3",
			 "better than the equal split for every workload: least gain %.1f %%",
			 least);
	study_claim(s, "Figure 3", "gain of an unseen workload, mean, %", PAPER_GAIN,
		    mean[UNSEEN_PAPER], 1);
	study_claim(s, "Figure 3", "gain of an unseen workload, most, %", PAPER_MOST,
		    most[UNSEEN_PAPER], 1);
	study_claim(s, "Figure 3", "below the oracle, %", MOST_LOSS,
		    100 * (1 - chosen[UNSEEN_PAPER]), -1);
	return study_csv_end(f, err);
}

static void print_paper_value(double v)
{
	if (isnan(v))
		printf(" %7s", "-");
	else
		printf(" %7.1f", v);
}

/* @param what  put before the group's name */
static void claim_group(struct study *s, const char *what, size_t g, double paper, double ours,
			int better)
{
	char text[80];

	if (isnan(paper))
		return;
	snprintf(text, sizeof(text), "%s of group %s, %%", what, groups[g].name);
	study_claim(s, "Figure 4", text, paper, ours, better);
}

static int print_groups(struct study *s, const struct results *r, struct hes_err *err)
{
	FILE *f = study_csv(s, "fig4.csv", "group," HEADER, err);

	if (!f)
		return -EIO;
	printf("\nFigure 4: the same by classes: (H)igh or (L)ow compute and memory; the last "
	       "columns are the paper's\n");
	print_titles("group");
	for (size_t g = 0; g < GROUPS; g++) {
		if (!r->group[g].n)
			continue;
		print_row(stdout, groups[g].name, &r->group[g], ROW);
		print_row(f, groups[g].name, &r->group[g], CSV);
		print_paper_value(groups[g].paper_gain);
		print_paper_value(groups[g].paper_edge);
		putchar('\n');
		claim_group(s, "gain", g, groups[g].paper_gain, gain(&r->group[g], UNSEEN_PAPER),
			    1);
		claim_group(s, "oracle at 90/10", g, groups[g].paper_edge,
			    100 * (double)r->group[g].edge / (double)r->group[g].n, 0);
	}
	return study_csv_end(f, err);
}

static int draw(const struct study *s, const char *file, const char *title,
		const struct outcome *const *o, const char *const *names, size_t n,
		struct hes_err *err)
{
	static const char *const series[] = { "paper's method", "corrected", "equal split" };
	double y[3 * TESTBED_JOBS];

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < 3; k++)
			y[k * n + i] = (k < UNSEEN_METHODS ? o[i]->chosen[k] : o[i]->equal) /
				       fmax((double)o[i]->n, 1);
	return chart_draw(&(struct chart){ .title = title,
					   .x_title = "",
					   .y_title = "throughput per watt, part of the oracle's",
					   .bars = true,
					   .y_min = 0,
					   .y_max = 1.1,
					   .series = series,
					   .n_series = 3,
					   .groups = names,
					   .y = y,
					   .n = n },
			  s->output, file, err);
}

static int draw_both(const struct study *s, const struct results *r, struct hes_err *err)
{
	const struct outcome *o[TESTBED_JOBS];
	const char *names[TESTBED_JOBS];
	int rc;

	for (size_t i = 0; i < r->n; i++) {
		o[i] = &r->job[i].all;
		names[i] = paper_jobs[r->job[i].job].name;
	}
	rc = draw(s, "fig3.svg", "Figure 3: pairs with an unseen workload", o, names, r->n, err);
	for (size_t g = 0; g < GROUPS; g++) {
		o[g] = &r->group[g];
		names[g] = groups[g].name;
	}
	return rc ? rc
		  : draw(s, "fig4.svg", "Figure 4: by classes of the two workloads", o, names,
			 GROUPS, err);
}

/* Every @step-th workload, by falling use. */
static void choose_jobs(const struct testbed *t, size_t step, struct results *r)
{
	for (size_t i = 0; i < TESTBED_JOBS; i += step) {
		size_t at = r->n++;

		for (; at > 0 &&
		       use_of(t, r->job[at - 1].job, HES_METRIC_SM) < use_of(t, i, HES_METRIC_SM);
		     at--)
			r->job[at] = r->job[at - 1];
		r->job[at] = (struct left_out){ .job = i };
	}
}

int study_unseen(struct study *s, const struct testbed *t, struct hes_err *err)
{
	struct results r = { .s = s, .t = t };
	int rc;

	choose_jobs(t, s->quick ? 4 : 1, &r);
	study_progress("figures 3 and 4: %zu workloads, each left out once", r.n);
	rc = parts_run(r.n, s->threads, leave_out, &r, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < r.n; i++)
		for (size_t g = 0; g < GROUPS; g++)
			add_outcome(&r.group[g], &r.job[i].group[g]);
	rc = print_jobs(s, &r, err);
	if (!rc)
		rc = print_groups(s, &r, err);
	return rc ? rc : draw_both(s, &r, err);
}
