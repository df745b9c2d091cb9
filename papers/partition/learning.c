/*
 * learning.c - figures 1 and 2: errors, training time and the choice of split, against the number
 * of rows to learn from.
 *
 * Rows are split at random, as in the paper: a row that is tested has other splits of the same pair
 * among the rows that were learnt from.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "chart.h"
#include "paper_method.h"
#include "study.h"

#define SIZES       9
#define HALF        4 /* index of 50 % */
#define REPETITIONS 10
#define MOST_RATE   10 /* error on half of the rows, percent: the paper's for extra trees */
#define MOST_POWER  5
/* Of the oracle's throughput per watt, percent: the paper's for extra trees, and for each learner.
 */
#define LEAST_KEPT 98
#define ALL_KEPT   96

enum { RATE, POWER, SECONDS, FIT_SECONDS, KEPT, FIGURES };
enum { ET = LEARNER_EXTRA_TREES, RF = LEARNER_FOREST, AUTO = LEARNER_AUTO, CORRECTED, CONTENDERS };

static const char *const contenders[CONTENDERS] = {
	[ET] = "paper, extra trees",
	[RF] = "paper, random forest",
	[AUTO] = "paper, AutoML",
	[CORRECTED] = "corrected",
};

#define OF_PAPER 7 /* length of "paper, " */

/* What one training set gave. */
struct trial {
	size_t size;
	double v[FIGURES][CONTENDERS];
};

struct trials {
	const struct study *s;
	const struct testbed *t;
	struct trial *v;
	size_t n;
};

/* Means over trials, for sizes 0, step, 2 step, ... below end. */
struct curves {
	size_t step, end;
	double v[FIGURES][CONTENDERS][SIZES];
};

static const struct {
	const char *file, *title, *y_title;
	int figure;
	bool log_y;
	double y_min, y_max;
} pictures[] = {
	{ "fig1a.svg", "Figure 1(a): sum of throughputs", "MAPE, %", RATE, false, 0, 0 },
	{ "fig1b.svg", "Figure 1(b): GPU power", "MAPE, %", POWER, false, 0, 0 },
	{ "fig1c.svg", "Figure 1: training time, both outputs, search included", "s", SECONDS, true,
	  0, 0 },
	{ "fig2.svg", "Figure 2: throughput per watt of the chosen split", "% of the oracle's",
	  KEPT, false, 90, 101 },
};

static int learn_once(void *ctx, size_t i, struct hes_err *err)
{
	struct trials *trials = ctx;
	struct trial *trial = &trials->v[i];
	const struct testbed *t = trials->t;
	bool *use = malloc(t->pairs.n * sizeof(*use));
	struct predicted *p = malloc(t->pairs.n * sizeof(*p));
	int rc = use && p ? study_choose_rows(trials->s->seed + i, t->pairs.n,
					      (uint32_t)trial->size + 1, use, err)
			  : hes_fail(err, -ENOMEM, "out of memory for %zu rows", t->pairs.n);

	for (int k = 0; k < CONTENDERS && !rc; k++) {
		double from = study_cpu_seconds(), score[SCORES];

		rc = k == CORRECTED
			     ? study_learn(trials->s, t, METHOD_CORRECTED, use, p, err)
			     : paper_method_learn(t, use, (enum learner)k, trials->s->seed + i,
						  (uint32_t)trials->s->trees, p,
						  &trial->v[FIT_SECONDS][k], err);
		if (rc)
			break;
		trial->v[SECONDS][k] = study_cpu_seconds() - from;
		study_score(t, p, use, TESTBED_JOBS, score);
		trial->v[RATE][k] = score[SCORE_RATE];
		trial->v[POWER][k] = score[SCORE_POWER];
		trial->v[KEPT][k] = 100 - score[SCORE_LOSS];
	}
	free(p);
	free(use);
	return rc;
}

static void add_trials(const struct trials *trials, size_t repetitions, struct curves *out)
{
	for (size_t i = 0; i < trials->n; i++)
		for (int figure = 0; figure < FIGURES; figure++)
			for (int k = 0; k < CONTENDERS; k++)
				out->v[figure][k][trials->v[i].size] +=
					trials->v[i].v[figure][k] / (double)repetitions;
}

static void print_curves(const struct curves *c)
{
	static const struct {
		const char *title;
		int figure;
		double times;
		const char *format;
		int contenders;
	} tables[] = {
		{ "Figure 1(a): MAPE of the sum of throughputs, %", RATE, 1, "%8.2f", CONTENDERS },
		{ "Figure 1(b): MAPE of GPU power, %", POWER, 1, "%8.2f", CONTENDERS },
		{ "Figure 1: training time of both outputs, ms of one thread, search included",
		  SECONDS, 1000, "%8.0f", CONTENDERS },
		{ "... of the fits on all rows alone, ms", FIT_SECONDS, 1000, "%8.0f", CORRECTED },
		{ "Figure 2: throughput per watt of the chosen split, % of the oracle's", KEPT, 1,
		  "%8.2f", CONTENDERS },
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		printf("\n%s\n%-24s", tables[i].title, "training rows, %");
		for (size_t size = 0; size < c->end; size += c->step)
			printf("%8zu", 10 * (size + 1));
		for (int k = 0; k < tables[i].contenders; k++) {
			printf("\n%-24s", contenders[k]);
			for (size_t size = 0; size < c->end; size += c->step)
				printf(tables[i].format,
				       tables[i].times * c->v[tables[i].figure][k][size]);
		}
		putchar('\n');
	}
}

static int write_curves(const struct study *s, const struct curves *c, struct hes_err *err)
{
	FILE *f = study_csv(s, "fig1_fig2.csv",
			    "method,training_pct,rate_mape_pct,power_mape_pct,training_s,fit_s,per_"
			    "watt_of_oracle_pct",
			    err);

	if (!f)
		return -EIO;
	for (int k = 0; k < CONTENDERS; k++)
		for (size_t size = 0; size < c->end; size += c->step)
			fprintf(f, "\"%s\",%zu,%.4f,%.4f,%.4f,%.4f,%.3f\n", contenders[k],
				10 * (size + 1), c->v[RATE][k][size], c->v[POWER][k][size],
				c->v[SECONDS][k][size], c->v[FIT_SECONDS][k][size],
				c->v[KEPT][k][size]);
	return study_csv_end(f, err);
}

static int draw_curves(const struct study *s, const struct curves *c, struct hes_err *err)
{
	const char *names[CONTENDERS];
	double x[SIZES], y[CONTENDERS * SIZES];
	size_t n = 0;
	int rc = 0;

	for (size_t size = 0; size < c->end; size += c->step)
		x[n++] = 10.0 * ((double)size + 1);
	for (size_t p = 0; p < sizeof(pictures) / sizeof(pictures[0]) && !rc; p++) {
		for (int k = 0; k < CONTENDERS; k++) {
			names[k] = contenders[k];
			for (size_t i = 0; i < n; i++)
				y[(size_t)k * n + i] = c->v[pictures[p].figure][k][i * c->step];
		}
		rc = chart_draw(&(struct chart){ .title = pictures[p].title,
						 .x_title = "rows to learn from, %",
						 .y_title = pictures[p].y_title,
						 .log_y = pictures[p].log_y,
						 .y_min = pictures[p].y_min,
						 .y_max = pictures[p].y_max,
						 .series = names,
						 .n_series = CONTENDERS,
						 .x = x,
						 .y = y,
						 .n = n },
				s->output, pictures[p].file, err);
	}
	return rc;
}

/* Whether @a is less than @b at every size. */
static bool always_less(const struct curves *c, int figure, int a, int b)
{
	bool less = true;

	for (size_t size = 0; size < c->end; size += c->step)
		less &= c->v[figure][a][size] < c->v[figure][b][size];
	return less;
}

static void claim_order(struct study *s, const struct curves *c, int figure, const char *where,
			const char *what, int first, int second, int last)
{
	bool holds = always_less(c, figure, first, second) && always_less(c, figure, second, last);

	study_claim_text(s, holds ? AT_LEAST : MISSED, where,
			 "%s: %s, %s, %s; here on half of the rows %.3g, %.3g, %.3g", what,
			 contenders[first] + OF_PAPER, contenders[second] + OF_PAPER,
			 contenders[last] + OF_PAPER, c->v[figure][first][HALF],
			 c->v[figure][second][HALF], c->v[figure][last][HALF]);
}

/* What the paper reads from its figures. */
static void claim_curves(struct study *s, const struct curves *c)
{
	double kept = INFINITY, least = INFINITY, most = 0;
	bool power_less = true;

	for (size_t size = 0; size < c->end; size += c->step) {
		kept = fmin(kept, c->v[KEPT][ET][size]);
		most = size >= HALF ? fmax(most, c->v[RATE][ET][size]) : most;
		for (int k = 0; k < CORRECTED; k++) {
			least = fmin(least, c->v[KEPT][k][size]);
			power_less &= c->v[POWER][k][size] < c->v[RATE][k][size];
		}
	}
	study_claim_text(s, most < MOST_RATE ? AT_LEAST : MISSED, "Figure 1(a)",
			 "extra trees' error from 50 %% of the rows on: %.1f %% (paper below 10)",
			 most);
	claim_order(s, c, RATE, "Figure 1(a)", "error rises", ET, AUTO, RF);
	study_claim_text(s, power_less ? AT_LEAST : MISSED, "Figure 1(b)",
			 "power has less error than throughput with every learner");
	claim_order(s, c, SECONDS, "Figure 1 (time)", "training time rises", ET, RF, AUTO);
	study_claim_text(s, kept > LEAST_KEPT ? AT_LEAST : MISSED, "Figure 2",
			 "extra trees keep of the oracle at every size: %.1f %% (paper above 98)",
			 kept);
	study_claim_text(s, least > ALL_KEPT ? AT_LEAST : MISSED, "Figure 2",
			 "each learner keeps of the oracle at every size: %.1f %% (paper above 96)",
			 least);
}

int study_learning(struct study *s, const struct testbed *t, struct hes_err *err)
{
	const size_t repetitions = s->quick ? 1 : REPETITIONS;
	struct trials trials = { .s = s,
				 .t = t,
				 .v = calloc(SIZES * repetitions, sizeof(*trials.v)) };
	struct curves c = { .step = s->quick ? HALF : 1, .end = s->quick ? HALF + 1 : SIZES };
	int rc = trials.v ? 0 : hes_fail(err, -ENOMEM, "out of memory for trials");

	for (size_t size = 0; size < c.end && !rc; size += c.step)
		for (size_t r = 0; r < repetitions; r++)
			trials.v[trials.n++].size = size;
	study_progress("figures 1 and 2: %zu training sets", trials.n);
	if (!rc)
		rc = parts_run(trials.n, s->threads, learn_once, &trials, err);
	if (!rc)
		add_trials(&trials, repetitions, &c);
	free(trials.v);
	if (rc)
		return rc;
	print_curves(&c);
	for (int k = 0; k < CONTENDERS; k++) {
		printf("%s, trained on half of the rows:\n", contenders[k]);
		study_check(s, "  error of the sum of throughputs, %", c.v[RATE][k][HALF],
			    MOST_RATE);
		study_check(s, "  error of power, %", c.v[POWER][k][HALF], MOST_POWER);
	}
	claim_curves(s, &c);
	rc = write_curves(s, &c, err);
	return rc ? rc : draw_curves(s, &c, err);
}
