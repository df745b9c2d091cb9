/*
 * co_run_predictor.c - compare heshare's co-run predictor (heshare/predict.h) with the partition
 * models, on the same pairs.
 *
 * The predictor learns from samples that hes_points_derive() makes of the same points, and knows
 * the same solo points. It predicts each job's time and the GPU power with the job; power of a pair
 * is the mean of what it says of both jobs.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "heshare/predict.h"
#include "heshare/profiler.h"
#include "study.h"

#define REPETITIONS 3 /* of the random split of rows */

/** Fill @out, one for each set of t->pairs, from the sets that @use marks. */
typedef int contender_fn(const struct study *s, const struct testbed *t, const bool *use,
			 struct predicted *out, struct hes_err *err);

struct training {
	struct hes_profiles profiles;
	struct hes_samples samples;
};

static int training_derive(const struct testbed *t, const bool *use, struct training *out,
			   struct hes_err *err)
{
	struct hes_points p;
	int rc = testbed_points(t, &t->pairs, use, &p, err);

	if (rc)
		return rc;
	rc = hes_points_derive(&p, &t->catalogue, &out->profiles, &out->samples, err);
	hes_points_free(&p);
	out->samples.known = &out->profiles;
	return rc;
}

static void training_free(struct training *t)
{
	hes_samples_free(&t->samples);
	hes_profiles_free(&t->profiles);
}

static const struct hes_estimate *estimate_of(const struct hes_samples *s,
					      const struct hes_estimate *e,
					      const struct hes_point *row)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].sm_pct == row->sm_pct &&
		    strcmp(s->v[i].task.workload, row->workload) == 0 &&
		    strcmp(s->v[i].co_runner_names, row->co_runners) == 0)
			return &e[i];
	return NULL;
}

static int predict_samples(const struct testbed *t, const struct hes_predictor *p,
			   const struct hes_samples *s, struct predicted *out, struct hes_err *err)
{
	struct hes_estimate *e = malloc(s->n * sizeof(*e));
	int rc = e ? hes_predict_samples(p, s, &t->catalogue, e, err)
		   : hes_fail(err, -ENOMEM, "out of memory for estimates");

	for (size_t i = 0; i < t->pairs.n && !rc; i++) {
		const struct hes_estimate *a = estimate_of(s, e, &t->pairs.v[i].rows[0]),
					  *b = estimate_of(s, e, &t->pairs.v[i].rows[1]);

		if (!a || !b)
			rc = hes_fail(err, -ENOENT, "a pair is no sample: %s",
				      t->pairs.v[i].rows[0].co_runners);
		else
			out[i] = (struct predicted){ 1e6 / a->iteration_us + 1e6 / b->iteration_us,
						     (a->power_mw + b->power_mw) * 0.5e-3 };
	}
	free(e);
	return rc;
}

static int co_run_predictor(const struct study *s, const struct testbed *t, const bool *use,
			    struct predicted *out, struct hes_err *err)
{
	const struct hes_train_options o = { .seed = s->seed, .threads = 1 };
	struct training learn = { 0 }, all = { 0 };
	struct hes_predictor *p = NULL;
	int rc = training_derive(t, use, &learn, err);

	if (!rc)
		rc = training_derive(t, NULL, &all, err);
	if (!rc)
		rc = hes_predictor_train(&learn.samples, &t->catalogue, &o, &p, err);
	if (!rc)
		rc = predict_samples(t, p, &all.samples, out, err);
	hes_predictor_free(p);
	training_free(&learn);
	training_free(&all);
	return rc;
}

static int paper(const struct study *s, const struct testbed *t, const bool *use,
		 struct predicted *out, struct hes_err *err)
{
	return study_learn(s, t, METHOD_PAPER_ET, use, out, err);
}

static int corrected(const struct study *s, const struct testbed *t, const bool *use,
		     struct predicted *out, struct hes_err *err)
{
	return study_learn(s, t, METHOD_CORRECTED, use, out, err);
}

static int closed_form(const struct study *s, const struct testbed *t, const bool *use,
		       struct predicted *out, struct hes_err *err)
{
	struct hes_partition_model *m;
	int rc = testbed_train(t, &(struct co_run_sets){ 0 }, NULL, &m, err);

	(void)s;
	(void)use;
	if (rc)
		return rc;
	study_predict(t, m, out);
	hes_partition_free(m);
	return 0;
}

static int truth(const struct study *s, const struct testbed *t, const bool *use,
		 struct predicted *out, struct hes_err *err)
{
	(void)s;
	(void)use;
	(void)err;
	for (size_t i = 0; i < t->pairs.n; i++)
		out[i] = (struct predicted){ t->pairs.v[i].rate[0] + t->pairs.v[i].rate[1],
					     t->pairs.v[i].power_w };
	return 0;
}

static const struct {
	const char *name;
	contender_fn *predict;
} contenders[] = {
	{ "co-run predictor", co_run_predictor },
	{ "paper, extra trees", paper },
	{ "corrected", corrected },
	{ "closed form, no pair learnt", closed_form },
	{ "the truth (noise alone)", truth },
};

#define CONTENDERS (sizeof(contenders) / sizeof(contenders[0]))

struct comparison {
	const struct study *s;
	const struct testbed *t;
	size_t n; /* training sets */
	size_t left_out[REPETITIONS +
			TESTBED_JOBS]; /* workload; TESTBED_JOBS: half of the rows, at random */
	double score[REPETITIONS + TESTBED_JOBS][CONTENDERS][SCORES];
};

static int choose_training(const struct comparison *c, size_t i, bool *use, struct hes_err *err)
{
	const struct testbed *t = c->t;

	if (c->left_out[i] == TESTBED_JOBS)
		return study_choose_rows(c->s->seed + i, t->pairs.n, 5, use, err);
	for (size_t k = 0; k < t->pairs.n; k++)
		use[k] = !testbed_pair_has(t, k / TESTBED_SPLITS, c->left_out[i]);
	return 0;
}

/* All contenders on one training set. */
static int compare(void *ctx, size_t i, struct hes_err *err)
{
	struct comparison *c = ctx;
	const struct testbed *t = c->t;
	bool *use = malloc(t->pairs.n * sizeof(*use));
	struct predicted *p = malloc(t->pairs.n * sizeof(*p));
	int rc = use && p ? choose_training(c, i, use, err)
			  : hes_fail(err, -ENOMEM, "out of memory for pairs");

	for (size_t k = 0; k < CONTENDERS && !rc; k++) {
		rc = contenders[k].predict(c->s, t, use, p, err);
		if (!rc)
			study_score(t, p, use, c->left_out[i], c->score[i][k]);
	}
	free(p);
	free(use);
	return rc;
}

static double mean(const struct comparison *c, size_t contender, int score, size_t from, size_t to)
{
	double sum = 0;

	for (size_t i = from; i < to; i++)
		sum += c->score[i][contender][score];
	return sum / (double)(to - from);
}

/* @param repetitions  trials of random rows; the others leave out a workload each */
static int print_comparison(const struct comparison *c, size_t repetitions, struct hes_err *err)
{
	FILE *f = study_csv(c->s, "co_run_predictor.csv",
			    "model,half_rate_mape_pct,half_power_mape_pct,half_loss_pct,"
			    "unseen_rate_mape_pct,unseen_power_mape_pct,unseen_loss_pct",
			    err);

	if (!f)
		return -EIO;
	printf("\nheshare's co-run predictor and the partition models: error of pairs and loss of "
	       "the chosen split, %%\n"
	       "%-30s %26s %29s\n%-30s %10s %8s %6s %12s %8s %7s\n",
	       "", "half of the rows", "unseen workload", "", "throughput", "power", "loss",
	       "throughput", "power", "loss");
	for (size_t k = 0; k < CONTENDERS; k++) {
		double v[2 * SCORES];

		for (int i = 0; i < SCORES; i++) {
			v[i] = mean(c, k, i, 0, repetitions);
			v[SCORES + i] = mean(c, k, i, repetitions, c->n);
		}
		printf("%-30s %10.2f %8.2f %6.2f %12.2f %8.2f %7.2f\n", contenders[k].name, v[0],
		       v[1], v[2], v[3], v[4], v[5]);
		fprintf(f, "\"%s\",%.4f,%.4f,%.4f,%.4f,%.4f,%.4f\n", contenders[k].name, v[0], v[1],
			v[2], v[3], v[4], v[5]);
	}
	return study_csv_end(f, err);
}

int study_predictor(struct study *s, const struct testbed *t, struct hes_err *err)
{
	const size_t repetitions = s->quick ? 1 : REPETITIONS, step = s->quick ? TESTBED_JOBS : 1;
	struct comparison c = { .s = s, .t = t };
	int rc;

	while (c.n < repetitions)
		c.left_out[c.n++] = TESTBED_JOBS;
	for (size_t job = 0; job < TESTBED_JOBS; job += step)
		c.left_out[c.n++] = job;
	study_progress("heshare's co-run predictor: %zu training sets", c.n);
	rc = parts_run(c.n, s->threads, compare, &c, err);
	return rc ? rc : print_comparison(&c, repetitions, err);
}
