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

#define CV 1 /* points of the testbed are steady; none is left out */

enum { RATE, POWER, ERRORS };

/* Mean errors over some training sets, percent. */
struct compared {
	double predictor[ERRORS], by_method[METHODS][ERRORS];
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
	const struct hes_train_options o = { .seed = s->seed, .threads = (uint32_t)s->threads };
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

/* All on one training set. @param part  of the mean */
static int compare(const struct study *s, const struct testbed *t, const bool *use, double part, struct compared *add, struct hes_err *err)
{
	double one[ERRORS];
	int rc = test_predictor(s, t, use, one, err);

	for (int k = 0; k < ERRORS && !rc; k++)
		add->predictor[k] += part * one[k];
	for (size_t i = 0; i < N_COMPARED && !rc; i++) {
		const struct hes_partition_options o = method_options(s, compared_methods[i]);
		double *to = add->by_method[compared_methods[i]];
		struct hes_partition_model *m;

		rc = testbed_train(t, &t->pairs, use, &o, &m, err);
		if (rc)
			break;
		study_errors(t, m, use, &one[RATE], &one[POWER]);
		for (int k = 0; k < ERRORS; k++)
			to[k] += part * one[k];
		hes_partition_free(m);
	}
	return rc;
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
	const size_t repetitions = s->quick ? 1 : 3, left_out_step = s->quick ? 8 : 1;
	bool *use = malloc(t->pairs.n * sizeof(*use));
	struct compared rows = { 0 }, unseen = { 0 };
	int rc = use ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu rows", t->pairs.n);

	study_progress("heshare's co-run predictor");
	for (size_t r = 0; r < repetitions && !rc; r++) {
		rc = study_choose_rows(s->seed + r, t->pairs.n, 5, use, err);
		if (!rc)
			rc = compare(s, t, use, 1.0 / (double)repetitions, &rows, err);
	}
	for (size_t job = 0; job < TESTBED_JOBS && !rc; job += left_out_step) {
		for (size_t i = 0; i < t->pairs.n; i++)
			use[i] = !testbed_pair_has(t, i / TESTBED_SPLITS, job);
		rc = compare(s, t, use, (double)left_out_step / TESTBED_JOBS, &unseen, err);
	}
	free(use);
	return rc ? rc : print_compared(s, &rows, &unseen, err);
}
