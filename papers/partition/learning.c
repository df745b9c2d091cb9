/*
 * learning.c - figures 1 and 2: errors, training time and the choice of split, against the number
 * of rows to learn from.
 *
 * Rows are split at random, as in the paper: a row that is tested has other splits of the same pair
 * among the rows that were learnt from.
 */
#include <errno.h>
#include <stdlib.h>

#include "chart.h"
#include "study.h"

#define SIZES       9
#define HALF        4 /* index of 50 % */
#define REPETITIONS 10
#define MOST_RATE   10 /* error on half of the rows, percent */
#define MOST_POWER  5

enum { RATE, POWER, SECONDS, KEPT, FIGURES };

/* What one training set gave. */
struct trial {
	size_t size;
	double v[FIGURES][METHODS];
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
	double v[FIGURES][METHODS][SIZES];
};

static const struct {
	const char *file, *title, *y_title;
	int figure;
	bool log_y;
	double y_min, y_max;
} pictures[] = {
	{ "fig1a.svg", "Figure 1(a): sum of throughputs", "MAPE, %", RATE, false, 0, 0 },
	{ "fig1b.svg", "Figure 1(b): GPU power", "MAPE, %", POWER, false, 0, 0 },
	{ "fig1c.svg", "Figure 1: training time, both outputs, with cross-validation", "s", SECONDS,
	  true, 0, 0 },
	{ "fig2.svg", "Figure 2: throughput per watt of the chosen split", "part of the oracle's",
	  KEPT, false, 0.9, 1.01 },
};

/* Throughput per watt of the chosen splits, as a mean part of the oracle's. */
static double kept(const struct testbed *t, const struct hes_partition_model *m)
{
	double sum = 0;

	for (size_t pair = 0; pair < t->n_pairs; pair++)
		sum += testbed_per_watt(t, pair, testbed_best_split(t, m, pair)) /
		       testbed_per_watt(t, pair, testbed_best_split(t, NULL, pair));
	return sum / (double)t->n_pairs;
}

static int learn_once(void *ctx, size_t i, struct hes_err *err)
{
	struct trials *trials = ctx;
	struct trial *trial = &trials->v[i];
	const struct testbed *t = trials->t;
	bool *use = malloc(t->pairs.n * sizeof(*use));
	int rc = use ? study_choose_rows(trials->s->seed + i, t->pairs.n, (uint32_t)trial->size + 1,
					 use, err)
		     : hes_fail(err, -ENOMEM, "out of memory for %zu rows", t->pairs.n);

	for (int k = 0; k < METHODS && !rc; k++) {
		struct hes_partition_options o = method_options(trials->s, k);
		struct hes_partition_model *m;
		double from = study_cpu_seconds();

		o.seed += i;
		rc = testbed_train(t, &t->pairs, use, &o, &m, err);
		if (rc)
			break;
		trial->v[SECONDS][k] = study_cpu_seconds() - from;
		study_errors(t, m, use, &trial->v[RATE][k], &trial->v[POWER][k]);
		trial->v[KEPT][k] = kept(t, m);
		hes_partition_free(m);
	}
	free(use);
	return rc;
}

static void add_trials(const struct trials *trials, size_t repetitions, struct curves *out)
{
	for (size_t i = 0; i < trials->n; i++)
		for (int figure = 0; figure < FIGURES; figure++)
			for (int k = 0; k < METHODS; k++)
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
	} tables[] = {
		{ "Figure 1(a): MAPE of the sum of throughputs, %", RATE, 1, "%8.2f" },
		{ "Figure 1(b): MAPE of GPU power, %", POWER, 1, "%8.2f" },
		{ "Figure 1: training time, ms of one thread (both outputs, five-fold "
		  "cross-validation included)",
		  SECONDS, 1000, "%8.0f" },
		{ "Figure 2: throughput per watt of the chosen split, % of the oracle's", KEPT, 100,
		  "%8.2f" },
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		printf("\n%s\n%-24s", tables[i].title, "training rows, %");
		for (size_t size = 0; size < c->end; size += c->step)
			printf("%8zu", 10 * (size + 1));
		for (int k = 0; k < METHODS; k++) {
			printf("\n%-24s", methods[k].name);
			for (size_t size = 0; size < c->end; size += c->step)
				printf(tables[i].format,
				       tables[i].times * c->v[tables[i].figure][k][size]);
		}
		putchar('\n');
	}
}

static int write_curves(const struct study *s, const struct curves *c, struct hes_err *err)
{
	FILE *f = study_csv(
		s, "fig1_fig2.csv",
		"method,training_pct,rate_mape_pct,power_mape_pct,training_s,per_watt_of_oracle",
		err);

	if (!f)
		return -EIO;
	for (int k = 0; k < METHODS; k++)
		for (size_t size = 0; size < c->end; size += c->step)
			fprintf(f, "\"%s\",%zu,%.4f,%.4f,%.4f,%.5f\n", methods[k].name,
				10 * (size + 1), c->v[RATE][k][size], c->v[POWER][k][size],
				c->v[SECONDS][k][size], c->v[KEPT][k][size]);
	return study_csv_end(f, err);
}

static int draw_curves(const struct study *s, const struct curves *c, struct hes_err *err)
{
	const char *names[METHODS];
	double x[SIZES], y[METHODS * SIZES];
	size_t n = 0;
	int rc = 0;

	for (size_t size = 0; size < c->end; size += c->step)
		x[n++] = 10.0 * ((double)size + 1);
	for (size_t p = 0; p < sizeof(pictures) / sizeof(pictures[0]) && !rc; p++) {
		for (int k = 0; k < METHODS; k++) {
			names[k] = methods[k].name;
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
						 .n_series = METHODS,
						 .x = x,
						 .y = y,
						 .n = n },
				s->output, pictures[p].file, err);
	}
	return rc;
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
	for (int k = 0; k < METHODS; k += METHOD_CORRECTED - METHOD_PAPER_ET) {
		printf("%s, trained on half of the rows:\n", methods[k].name);
		study_check(s, "  error of the sum of throughputs, %", c.v[RATE][k][HALF],
			    MOST_RATE);
		study_check(s, "  error of power, %", c.v[POWER][k][HALF], MOST_POWER);
	}
	rc = write_curves(s, &c, err);
	return rc ? rc : draw_curves(s, &c, err);
}
