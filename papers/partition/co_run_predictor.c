/*
 * co_run_predictor.c - heshare's co-run predictor (heshare/predict.h) beside the partition models, on the same pairs.
 *
 * The predictor learns from samples that hes_points_tell() makes of the same points, and knows the same solo points. It
 * predicts each job's time and the GPU power with the job; power of a pair is the mean of what it says of both jobs.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "heshare/predict.h"
#include "heshare/profiler.h"
#include "study.h"

#define REPETITIONS 3 /* of the random split of rows */
#define CV          1 /* points of the testbed are steady; none is left out */

enum { RATE, POWER, ERRORS };

/* Errors of one training set, or their mean over some; percent. */
struct compared {
	size_t left_out; /* workload; TESTBED_JOBS: half of the rows, at random */
	double predictor[ERRORS], by_method[METHODS][ERRORS];
};

struct comparison {
	const struct study   *s;
	const struct testbed *t;
	struct compared       v[REPETITIONS + TESTBED_JOBS];
	size_t                n;
};

static const int compared_methods[] = { METHOD_PAPER_ET, METHOD_CORRECTED };

#define N_COMPARED (sizeof(compared_methods) / sizeof(compared_methods[0]))

struct told_points {
	struct hes_profiles profiles;
	struct hes_samples  samples;
};

static int tell(const struct testbed *t, const bool *use, struct told_points *out, struct hes_err *err)
{
	struct hes_points p;
	int rc = testbed_points(t, &t->pairs, use, &p, err);

	if (rc)
		return rc;
	rc = hes_points_tell(&p, &t->catalogue, CV, &out->profiles, &out->samples, err);
	hes_points_free(&p);
	out->samples.known = &out->profiles;
	return rc;
}

static void told_free(struct told_points *t)
{
	hes_samples_free(&t->samples);
	hes_profiles_free(&t->profiles);
}

static const struct hes_estimate *estimate_of(const struct hes_samples *s, const struct hes_estimate *e, const struct hes_point *row)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].sm_pct == row->sm_pct && strcmp(s->v[i].task.workload, row->workload) == 0 &&
		    strcmp(s->v[i].neighbours, row->beside) == 0)
			return &e[i];
	return NULL;
}

/* Errors over the pairs that @use does not mark; those without a sample count in @missing. */
static void pair_errors(const struct testbed *t, const struct hes_samples *s, const struct hes_estimate *e, const bool *use,
			double out[ERRORS], size_t *missing)
{
	size_t n = 0;

	out[RATE] = out[POWER] = 0;
	for (size_t i = 0; i < t->pairs.n; i++) {
		const struct co_run_set *set = &t->pairs.v[i];
		const struct hes_estimate *a = use[i] ? NULL : estimate_of(s, e, &set->rows[0]);
		const struct hes_estimate *b = use[i] ? NULL : estimate_of(s, e, &set->rows[1]);

		*missing += !use[i] && (!a || !b);
		if (!a || !b)
			continue;
		out[RATE] += fabs((1e6 / a->iteration_us + 1e6 / b->iteration_us) / set->measured_rate - 1);
		out[POWER] += fabs((a->power_mw + b->power_mw) * 0.5e-3 / set->measured_power_w - 1);
		n++;
	}
	out[RATE] *= 100 / (double)n;
	out[POWER] *= 100 / (double)n;
}

static int test_predictor(const struct study *s, const struct testbed *t, const bool *use, double out[ERRORS], struct hes_err *err)
{
	const struct hes_train_options o = { .seed = s->seed, .threads = 1 };
	struct told_points learn = { 0 }, test = { 0 };
	struct hes_predictor *p = NULL;
	struct hes_estimate *e = NULL;
	size_t missing = 0;
	int rc = tell(t, use, &learn, err);

	if (!rc)
		rc = tell(t, NULL, &test, err);
	if (!rc)
		rc = hes_predictor_train(&learn.samples, &t->catalogue, &o, &p, err);
	if (!rc) {
		e = malloc(test.samples.n * sizeof(*e));
		rc = e ? hes_predict_samples(p, &test.samples, &t->catalogue, e, err) : hes_fail(err, -ENOMEM, "out of memory for estimates");
	}
	if (!rc)
		pair_errors(t, &test.samples, e, use, out, &missing);
	if (missing)
		study_progress("%zu pairs are no samples", missing);
	free(e);
	hes_predictor_free(p);
	told_free(&learn);
	told_free(&test);
	return rc;
}

static int choose_training(const struct study *s, const struct testbed *t, size_t left_out, size_t i, bool *use, struct hes_err *err)
{
	if (left_out == TESTBED_JOBS)
		return study_choose_rows(s->seed + i, t->pairs.n, 5, use, err);
	for (size_t k = 0; k < t->pairs.n; k++)
		use[k] = !testbed_pair_has(t, k / TESTBED_SPLITS, left_out);
	return 0;
}

/* All on one training set. */
static int compare(void *ctx, size_t i, struct hes_err *err)
{
	struct comparison *c = ctx;
	struct compared *out = &c->v[i];
	const struct testbed *t = c->t;
	bool *use = malloc(t->pairs.n * sizeof(*use));
	int rc = use ? choose_training(c->s, t, out->left_out, i, use, err) : hes_fail(err, -ENOMEM, "out of memory for rows");

	if (!rc)
		rc = test_predictor(c->s, t, use, out->predictor, err);
	for (size_t k = 0; k < N_COMPARED && !rc; k++) {
		const struct hes_partition_options o = method_options(c->s, compared_methods[k]);
		double *to = out->by_method[compared_methods[k]];
		struct hes_partition_model *m;

		rc = testbed_train(t, &t->pairs, use, &o, &m, err);
		if (rc)
			break;
		study_errors(t, m, use, &to[RATE], &to[POWER]);
		hes_partition_free(m);
	}
	free(use);
	return rc;
}

static struct compared mean_of(const struct compared *v, size_t n)
{
	struct compared mean = { 0 };

	for (size_t i = 0; i < n; i++)
		for (int e = 0; e < ERRORS; e++) {
			mean.predictor[e] += v[i].predictor[e] / (double)n;
			for (int k = 0; k < METHODS; k++)
				mean.by_method[k][e] += v[i].by_method[k][e] / (double)n;
		}
	return mean;
}

static int print_compared(const struct study *s, const struct compared *rows, const struct compared *unseen, struct hes_err *err)
{
	FILE *f = study_csv(s, "co_run_predictor.csv",
			    "model,half_rate_mape_pct,half_power_mape_pct,unseen_rate_mape_pct,unseen_power_mape_pct", err);
	const char *csv = "\"%s\",%.4f,%.4f,%.4f,%.4f\n", *line = "%-30s %10.2f %10.2f %12.2f %10.2f\n";

	if (!f)
		return -EIO;
	printf("\nheshare's co-run predictor beside the partition models: mean error of pairs, %%\n%-30s %21s %23s\n%-30s %10s %10s %12s %10s\n",
	       "", "half of the rows", "unseen workload", "", "throughput", "power", "throughput", "power");
	for (int pass = 0; pass < 2; pass++) {
		FILE *to = pass ? f : stdout;
		const char *format = pass ? csv : line;

		fprintf(to, format, "co-run predictor", rows->predictor[RATE], rows->predictor[POWER], unseen->predictor[RATE],
			unseen->predictor[POWER]);
		for (size_t i = 0; i < N_COMPARED; i++) {
			int k = compared_methods[i];

			fprintf(to, format, methods[k].name, rows->by_method[k][RATE], rows->by_method[k][POWER],
				unseen->by_method[k][RATE], unseen->by_method[k][POWER]);
		}
	}
	return study_csv_end(f, err);
}

int study_predictor(struct study *s, const struct testbed *t, struct hes_err *err)
{
	const size_t repetitions = s->quick ? 1 : REPETITIONS, step = s->quick ? TESTBED_JOBS : 1;
	struct comparison c = { .s = s, .t = t };
	struct compared rows, unseen;
	int rc;

	while (c.n < repetitions)
		c.v[c.n++].left_out = TESTBED_JOBS;
	for (size_t job = 0; job < TESTBED_JOBS; job += step)
		c.v[c.n++].left_out = job;
	study_progress("heshare's co-run predictor: %zu training sets", c.n);
	rc = parts_run(c.n, s->threads, compare, &c, err);
	if (rc)
		return rc;
	rows = mean_of(c.v, repetitions);
	unseen = mean_of(c.v + repetitions, c.n - repetitions);
	return print_compared(s, &rows, &unseen, err);
}
