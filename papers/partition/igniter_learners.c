/*
 * igniter_learners.c - ways to predict slowdowns of iGniter's pairs; see igniter_learners.h.
 *
 * heshare's co-run predictor is not among them: it needs a profile of each network on the whole
 * GPU, with the GPU's power alone and together. iGniter has neither at the batch sizes of the
 * pairs.
 */
#include "igniter_learners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "paper_regressor.h"

#define TREES    150
#define MIN_LEAF 2
#define SEED     1

static int no_interference(const struct igniter *d, const bool *use, double (*out)[2],
			   struct hes_err *err)
{
	(void)use;
	(void)err;
	for (size_t i = 0; i < d->n_pairs; i++)
		out[i][0] = out[i][1] = 1;
	return 0;
}

static int constant(const struct igniter *d, const bool *use, double (*out)[2], struct hes_err *err)
{
	double sum = 0;
	size_t n = 0;

	(void)err;
	for (size_t i = 0; i < d->n_pairs; i++)
		if (use[i]) {
			sum += d->pairs[i].slowdown[0] + d->pairs[i].slowdown[1];
			n += 2;
		}
	for (size_t i = 0; i < d->n_pairs; i++)
		out[i][0] = out[i][1] = sum / (double)n;
	return 0;
}

#define MAX_FEATURES 12

static size_t line_features(const struct igniter_alone *job, const struct igniter_alone *other,
			    float *row)
{
	(void)job;
	row[0] = (float)other->l2;
	row[1] = (float)other->dram;
	return 2;
}

static size_t raw_features(const struct igniter_alone *job, const struct igniter_alone *other,
			   float *row)
{
	const struct igniter_alone *const both[] = { job, other };
	size_t n = 0;

	for (size_t i = 0; i < 2; i++) {
		row[n++] = (float)both[i]->l2;
		row[n++] = (float)both[i]->dram;
		row[n++] = (float)both[i]->batch;
		row[n++] = (float)both[i]->sm_pct;
		row[n++] = (float)both[i]->latency_ms;
		row[n++] = (float)both[i]->images_per_s;
	}
	return n;
}

typedef size_t features_fn(const struct igniter_alone *job, const struct igniter_alone *other,
			   float *row);

static size_t features_of(const struct igniter *d, size_t pair, size_t job, features_fn *features,
			  float *row)
{
	const struct igniter_pair *p = &d->pairs[pair];

	return features(&d->alone[p->alone[job]], &d->alone[p->alone[1 - job]], row);
}

static int regress(const struct igniter *d, const bool *use, features_fn *features,
		   const struct paper_setting *o, double (*out)[2], struct hes_err *err)
{
	float row[MAX_FEATURES], *x = malloc(2 * d->n_pairs * MAX_FEATURES * sizeof(*x));
	double *y = malloc(2 * d->n_pairs * sizeof(*y));
	struct paper_regressor r = { .weights = NULL };
	size_t n = 0, at = 0, width = features_of(d, 0, 0, features, row);
	int rc = x && y ? 0 : hes_fail(err, -ENOMEM, "out of memory for rows");

	for (size_t i = 0; i < d->n_pairs; i++)
		n += 2 * use[i];
	for (size_t k = 0; k < 2 * d->n_pairs && !rc; k++) {
		if (!use[k / 2])
			continue;
		features_of(d, k / 2, k % 2, features, row);
		for (size_t f = 0; f < width; f++)
			x[f * n + at] = row[f];
		y[at++] = d->pairs[k / 2].slowdown[k % 2];
	}
	if (!rc)
		rc = paper_regressor_fit(
			&(struct training_rows){
				.x = x, .y = y, .n = n, .n_features = width, .n_outputs = 1 },
			o, &r, err);
	for (size_t k = 0; k < 2 * d->n_pairs && !rc; k++) {
		features_of(d, k / 2, k % 2, features, row);
		paper_regressor_predict(&r, row, &out[k / 2][k % 2]);
	}
	paper_regressor_free(&r);
	free(x);
	free(y);
	return rc;
}

static int line(const struct igniter *d, const bool *use, double (*out)[2], struct hes_err *err)
{
	return regress(d, use, line_features, &(struct paper_setting){ .learner = PAPER_LINEAR },
		       out, err);
}

static int trees(const struct igniter *d, const bool *use, double (*out)[2], struct hes_err *err)
{
	const struct paper_setting o = {
		.learner = PAPER_EXTRA_TREES,
		.o = { .trees = TREES, .min_leaf = MIN_LEAF, .seed = SEED, .threads = 1 }
	};

	return regress(d, use, raw_features, &o, out, err);
}

static void predict_pair(const struct igniter *d, const struct hes_partition_model *m,
			 const struct igniter_pair *p, double out[2])
{
	const struct hes_share_profile *jobs[2];
	struct hes_partition_estimate e;
	uint32_t sm_pct[2];

	for (size_t k = 0; k < 2; k++) {
		jobs[k] = igniter_profile(d, &d->alone[p->alone[k]]);
		sm_pct[k] = d->alone[p->alone[k]].sm_pct;
	}
	hes_partition_predict(m, d->gpu, jobs, 2, sm_pct, &e);
	for (size_t k = 0; k < 2; k++)
		out[k] = 1e3 / e.rate[k] / d->alone[p->alone[k]].latency_ms;
}

/* @param use  NULL: learn from no pair */
static int partition(const struct igniter *d, const bool *use, double (*out)[2],
		     struct hes_err *err)
{
	struct hes_points p = { .v = malloc((d->solo.n + 2 * d->n_pairs) * sizeof(*p.v)),
				.n = d->solo.n };
	struct hes_partition_model *m;
	int rc;

	if (!p.v)
		return hes_fail(err, -ENOMEM, "out of memory for points");
	memcpy(p.v, d->solo.v, d->solo.n * sizeof(*p.v));
	for (size_t k = 0; k < 2 * d->n_pairs; k++)
		if (use && use[k / 2])
			p.v[p.n++] = d->pairs[k / 2].rows[k % 2];
	rc = hes_partition_train(&p, &d->profiles, &d->gpu, 1, &m, err);
	free(p.v);
	if (rc)
		return rc;
	for (size_t i = 0; i < d->n_pairs; i++)
		predict_pair(d, m, &d->pairs[i], out[i]);
	hes_partition_free(m);
	return 0;
}

static int closed_form(const struct igniter *d, const bool *use, double (*out)[2],
		       struct hes_err *err)
{
	(void)use;
	return partition(d, NULL, out, err);
}

static int corrected(const struct igniter *d, const bool *use, double (*out)[2],
		     struct hes_err *err)
{
	return partition(d, use, out, err);
}

const struct igniter_learner igniter_learners[IGNITER_LEARNERS] = {
	[IGNITER_NONE] = { "no interference", no_interference },
	{ "constant", constant },
	{ "line on L2 and DRAM use", line },
	{ "extra trees on raw numbers", trees },
	{ "closed form, no pair learnt", closed_form },
	[IGNITER_CORRECTED] = { "corrected", corrected },
};
