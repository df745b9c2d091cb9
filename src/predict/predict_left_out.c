/*
 * predict_left_out.c - estimate samples by predictors that were trained without them; see
 * heshare/predict.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "heshare/predict.h"

/* Samples of one co-run set share a GPU: it has one power. */
static bool same_set(const struct hes_sample *a, const struct hes_sample *b)
{
	return a->power_mw == b->power_mw && a->clock_mhz == b->clock_mhz &&
	       strcmp(a->task.gpu_type, b->task.gpu_type) == 0;
}

/* Number the sets of samples in the order of their first ones. @return how many */
static size_t number_sets(const struct hes_samples *s, size_t *set)
{
	size_t sets = 0;

	for (size_t i = 0; i < s->n; i++) {
		size_t k = 0;

		while (k < i && !same_set(&s->v[k], &s->v[i]))
			k++;
		set[i] = k < i ? set[k] : sets++;
	}
	return sets;
}

/* @param fit, test  room for all samples; @predicted: the same of their estimates */
static int estimate_fold(const struct hes_samples *s, const struct hes_catalogue *c,
			 const struct hes_train_options *o, const size_t *set, size_t fold,
			 size_t folds, struct hes_samples *fit, struct hes_samples *test,
			 struct hes_estimate *predicted, struct hes_estimate *out,
			 struct hes_err *err)
{
	struct hes_predictor *p = NULL;
	int rc;

	fit->n = test->n = 0;
	for (size_t i = 0; i < s->n; i++) {
		struct hes_samples *to = set[i] % folds == fold ? test : fit;

		to->v[to->n++] = s->v[i];
	}
	rc = hes_predictor_train(fit, c, o, &p, err);
	if (!rc)
		rc = hes_predict_samples(p, test, c, predicted, err);
	for (size_t i = 0, at = 0; i < s->n && !rc; i++)
		if (set[i] % folds == fold)
			out[i] = predicted[at++];
	hes_predictor_free(p);
	return rc;
}

int hes_predict_left_out(const struct hes_samples *s, const struct hes_catalogue *c,
			 const struct hes_train_options *o, size_t folds, struct hes_estimate *out,
			 struct hes_err *err)
{
	struct hes_samples fit = { calloc(s->n + 1, sizeof(*fit.v)), 0, s->known },
			   test = { calloc(s->n + 1, sizeof(*test.v)), 0, s->known };
	struct hes_estimate *predicted = calloc(s->n + 1, sizeof(*predicted));
	size_t *set = calloc(s->n + 1, sizeof(*set)), sets = 0;
	int rc = fit.v && test.v && predicted && set
			 ? 0
			 : hes_fail(err, -ENOMEM, "out of memory for %zu samples", s->n);

	if (!rc) {
		sets = number_sets(s, set);
		folds = sets < folds ? sets : folds;
		if (sets < 2)
			rc = hes_fail(err, -ENODATA,
				      "%zu co-run sets; two are needed to leave one out", sets);
	}
	for (size_t fold = 0; fold < folds && !rc; fold++)
		rc = estimate_fold(s, c, o, set, fold, folds, &fit, &test, predicted, out, err);
	hes_samples_free(&fit);
	hes_samples_free(&test);
	free(predicted);
	free(set);
	return rc;
}
