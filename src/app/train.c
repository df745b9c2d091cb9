/*
 * train.c - samples, a predictor of them, its test; see train.h.
 */
#include "app/train.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/catalogue.h"
#include "app/known.h"
#include "app/known_store.h"
#include "base/clock.h"
#include "base/rng.h"
#include "heshare/draw.h"
#include "predict/predictor.h"

#define PASSES 10  /* over the unseen samples, to time a prediction by the fastest */
#define FEW    100 /* below, modelled samples are added: from here on they would hardly count */
#define FOLDS  8   /* of few samples */

static const struct {
	const char *plural;
	size_t offset; /* of the name in a sample */
} left_out_kinds[TRAIN_LEFT_OUT] = {
	[TRAIN_WORKLOADS] = { "workloads", offsetof(struct hes_sample, task.workload) },
	[TRAIN_TYPES] = { "GPU types", offsetof(struct hes_sample, task.gpu_type) },
};

/* A training in progress. */
struct job {
	const struct train_request *q;
	struct train_result *r;
};

static struct hes_train_options options_of(const struct job *j)
{
	const struct train_request *q = j->q;

	return (struct hes_train_options){
		.prior = j->r->prior.samples.n ? &j->r->prior.samples : NULL,
		.trees = (uint32_t)q->trees,
		.seed = q->seed,
		.threads = (uint32_t)q->threads,
		.coverage = q->coverage_pct / 100,
	};
}

static int make_room(const struct job *j, struct hes_samples *fit, struct hes_samples *test,
		     struct hes_err *err)
{
	*fit = (struct hes_samples){ .v = calloc(j->r->all.n, sizeof(*fit->v)),
				     .known = j->r->all.known };
	*test = (struct hes_samples){ .v = calloc(j->r->all.n, sizeof(*test->v)),
				      .known = j->r->all.known };
	return fit->v && test->v
		       ? 0
		       : hes_fail(err, -ENOMEM, "out of memory for %zu samples", j->r->all.n);
}

static int train_split(struct job *j, struct hes_err *err)
{
	uint32_t *order = malloc(j->r->all.n * sizeof(*order));
	size_t n_test = j->r->prior.samples.n
				? 0
				: (size_t)((double)j->r->all.n * j->q->validate_pct / 100);
	struct hes_rng rng;
	int rc = make_room(j, &j->r->fit, &j->r->test, err);

	if (!rc && !order)
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu samples", j->r->all.n);
	if (!rc) {
		for (uint32_t i = 0; i < j->r->all.n; i++)
			order[i] = i;
		hes_rng_seed(&rng, j->q->seed);
		hes_rng_shuffle(&rng, order, j->r->all.n);
		for (size_t i = 0; i < j->r->all.n; i++) {
			struct hes_samples *to = i < n_test ? &j->r->test : &j->r->fit;

			to->v[to->n++] = j->r->all.v[order[i]];
		}
	}
	free(order);
	return rc;
}

static int train_score(const struct job *j, const struct hes_samples *s, struct hes_test *out,
		       struct hes_err *err)
{
	return hes_estimates_test(s, j->r->predicted,
				  hes_predictor_about(j->r->predictor)->options.coverage, out, err);
}

/* Seconds of one prediction with co-runners that are known by their sums. */
static double time_prediction(const struct job *j)
{
	double start = hes_monotonic_s();

	for (size_t i = 0; i < j->r->test.n; i++) {
		const struct hes_sample *s = &j->r->test.v[i];
		const struct hes_gpu_type *g =
			hes_gpu_type_find(&j->r->catalogue, s->task.gpu_type, NULL);
		const struct hes_setting setting = { s->sm_pct,
						     hes_gpu_type_clock(g, s->clock_mhz) };
		struct hes_estimate e;

		hes_predict(j->r->predictor, g, &s->task, &setting, &s->co_runners, &e);
	}
	return (hes_monotonic_s() - start) / (double)j->r->test.n;
}

/* Estimates of unseen samples: of those held back, or of few ones that are left out in turn. */
static int estimate_unseen(struct job *j, struct hes_err *err)
{
	const struct hes_train_options options = options_of(j);
	int rc;

	j->r->predicted = calloc(j->r->all.n, sizeof(*j->r->predicted));
	if (!j->r->predicted)
		return hes_fail(err, -ENOMEM, "out of memory for %zu samples", j->r->all.n);
	if (!options.prior)
		return hes_predict_samples(j->r->predictor, &j->r->test, &j->r->catalogue,
					   j->r->predicted, err);
	if (j->q->validate_pct <= 0)
		return 0;
	memcpy(j->r->test.v, j->r->fit.v, j->r->fit.n * sizeof(*j->r->fit.v));
	j->r->test.n = j->r->fit.n;
	rc = hes_predict_left_out(&j->r->test, &j->r->catalogue, &options, FOLDS, j->r->predicted,
				  err);
	if (rc == -ENODATA)
		j->r->test.n = 0;
	return rc == -ENODATA ? 0 : rc;
}

static int train_and_test(struct job *j, struct hes_err *err)
{
	struct hes_train_options options = options_of(j);
	double start = hes_monotonic_s();
	int rc = hes_predictor_train(&j->r->fit, &j->r->catalogue, &options, &j->r->predictor, err);

	j->r->fit_s = hes_monotonic_s() - start;
	if (!rc)
		rc = estimate_unseen(j, err);
	if (!rc)
		rc = train_score(j, &j->r->test, &j->r->unseen, err);
	if (!rc && j->r->test.n)
		hes_predictor_keep_test(j->r->predictor, &j->r->unseen);
	for (int i = 0; i < PASSES && j->r->test.n && !rc; i++) {
		double s = time_prediction(j);

		j->r->row_s = i && j->r->row_s < s ? j->r->row_s : s;
	}
	return rc;
}

static int leave_one_out(const struct job *j, size_t offset, const char *name,
			 struct hes_samples *fit, struct hes_samples *test, struct hes_test *out,
			 struct hes_err *err)
{
	struct hes_train_options options = options_of(j);
	struct hes_predictor *p;
	int rc;

	fit->n = test->n = 0;
	for (size_t i = 0; i < j->r->all.n; i++) {
		struct hes_samples *to =
			strcmp((const char *)&j->r->all.v[i] + offset, name) ? fit : test;

		to->v[to->n++] = j->r->all.v[i];
	}
	if (!test->n)
		return 0;
	rc = hes_predictor_train(fit, &j->r->catalogue, &options, &p, err);
	if (rc)
		return rc;
	rc = hes_predict_samples(p, test, &j->r->catalogue, j->r->predicted, err);
	if (!rc)
		rc = train_score(j, test, out, err);
	hes_predictor_free(p);
	return rc;
}

static int leave_each_out(struct job *j, int kind, struct hes_err *err)
{
	const struct hes_predictor_info *about = hes_predictor_about(j->r->predictor);
	struct train_left_out *l = &j->r->left_out[kind];
	struct hes_samples fit = { 0 }, test = { 0 };
	char what[32];
	int rc = make_room(j, &fit, &test, err);

	l->n = kind == TRAIN_WORKLOADS ? about->n_workloads : about->n_types;
	l->names = kind == TRAIN_WORKLOADS ? about->workloads : about->types;
	l->tests = calloc(l->n, sizeof(*l->tests));
	snprintf(what, sizeof(what), "%s left out", left_out_kinds[kind].plural);
	if (!rc && !l->tests)
		rc = hes_fail(err, -ENOMEM, "out of memory");
	if (!rc && l->n < 2)
		rc = hes_fail(err, -EINVAL, "all samples are of %s; left out, nothing remains",
			      l->names[0]);
	for (uint32_t i = 0; i < l->n && !rc; i++) {
		if (j->q->progress)
			j->q->progress(what, i, l->n);
		rc = leave_one_out(j, left_out_kinds[kind].offset, l->names[i], &fit, &test,
				   &l->tests[i], err);
	}
	if (j->q->progress)
		j->q->progress(what, l->n, l->n);
	hes_samples_free(&fit);
	hes_samples_free(&test);
	return rc;
}

/* Distinct types of samples. */
static size_t types_of(const struct hes_samples *s, const struct hes_catalogue *c,
		       const struct hes_gpu_type *out[APP_KNOWN_TYPES])
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct hes_gpu_type *g = hes_gpu_type_find(c, s->v[i].task.gpu_type, NULL);
		size_t k = 0;

		while (k < n && out[k] != g)
			k++;
		if (g && k == n && n < APP_KNOWN_TYPES)
			out[n++] = g;
	}
	return n;
}

/* Modelled samples of the GPU types of samples; a type that the catalogue lacks is left to the
 * training to report. */
static int prior_draw(const struct train_request *q, const struct hes_samples *s,
		      const struct hes_catalogue *c, struct app_rows *out, struct hes_err *err)
{
	const struct hes_gpu_type *types[APP_KNOWN_TYPES];
	const size_t n = types_of(s, c, types);
	struct hes_draw d = {
		.types = types, .n_types = n, .noise = APP_KNOWN_NOISE, .seed = APP_KNOWN_SEED
	};
	struct hes_model *m = NULL;
	int rc = n ? app_model_load(q->app, NULL, c, types, n, &m, err) : 0;

	d.model = m;
	if (!rc && n)
		rc = hes_draw_profiles(&d, &out->profiles, err);
	if (!rc && n)
		rc = hes_draw_samples(&d, &out->profiles, APP_KNOWN_SAMPLES, &out->samples, err);
	out->samples.known = &out->profiles;
	hes_model_free(m);
	return rc;
}

/* Samples and profiles of the store. */
static int store_load(const struct train_request *q, struct app_rows *out, struct hes_err *err)
{
	const struct hes_store_query query = { .with_modelled = q->with_modelled };
	struct app_rows r = { 0 };
	struct hes_store *s = NULL;
	int rc = app_store_open(q->app, q->store, HES_STORE_READ, HES_STORE_WAIT_MS, &s, err);

	if (!rc)
		rc = hes_store_samples(s, &query, &r.samples, err);
	if (!rc)
		rc = hes_store_profiles(s, &query, &r.profiles, err);
	hes_store_close(s);
	if (!rc && !r.samples.n)
		rc = hes_fail(err, -ENOENT, "the store has no samples%s",
			      q->with_modelled
				      ? ""
				      : " that are not modelled; --with-modelled takes those too");
	if (rc)
		app_rows_free(&r);
	else
		*out = r;
	return rc;
}

/* Names of co-runners predict better than sums, but only with their profiles. */
static void note_unprofiled(const struct train_request *q, const struct hes_samples *s)
{
	bool named = false;

	for (size_t i = 0; i < s->n; i++)
		named |= s->v[i].co_runner_names[0] != 0;
	if (named && !s->known->n)
		app_say(q->app,
			"%s names co-runners, but there is no profiles.csv: only their sums are "
			"used; give the folder with both files",
			q->samples);
}

static int train_all(struct job *j, struct hes_err *err)
{
	const struct train_request *q = j->q;
	struct train_result *r = j->r;
	int rc = app_catalogue_load(q->app, q->catalogue, true, &r->catalogue, err);

	if (!rc)
		rc = q->samples ? app_samples_load(q->samples, &r->rows, err)
				: store_load(q, &r->rows, err);
	r->all = (struct hes_samples){ r->rows.samples.v, r->rows.samples.n, &r->rows.profiles };
	/* The model knows types at the clocks of their rows. */
	if (!rc && r->all.n < FEW)
		rc = prior_draw(q, &r->all, &r->catalogue, &r->prior, err);
	if (!rc)
		hes_profiles_hold(&r->rows.profiles, r->catalogue.types, r->catalogue.n);
	if (!rc && q->samples)
		note_unprofiled(q, &r->all);
	if (!rc)
		rc = train_split(j, err);
	if (!rc)
		rc = train_and_test(j, err);
	if (!rc && q->left_out)
		rc = leave_each_out(j, TRAIN_WORKLOADS, err);
	if (!rc && q->left_out_types)
		rc = leave_each_out(j, TRAIN_TYPES, err);
	if (!rc && q->out)
		rc = hes_predictor_save(q->out, r->predictor, err);
	return rc;
}

int train_run(const struct train_request *q, struct train_result *out, struct hes_err *err)
{
	struct job j = { q, out };

	*out = (struct train_result){ .predictor = NULL };
	return train_all(&j, err);
}

void train_free(struct train_result *r)
{
	for (int k = 0; k < TRAIN_LEFT_OUT; k++)
		free(r->left_out[k].tests);
	hes_predictor_free(r->predictor);
	app_rows_free(&r->prior);
	free(r->predicted);
	app_rows_free(&r->rows);
	hes_samples_free(&r->fit);
	hes_samples_free(&r->test);
	hes_catalogue_free(&r->catalogue);
}
