/*
 * type_model.c - a trained model, which has one type_model for each GPU type, and what it predicts;
 * see heshare/partition.h and type_model.h.
 *
 * Corrections multiply the closed form's rates and power; trees predict their logarithms. A weight
 * from cross-validation, 0 to 1, scales each logarithm; it differs between jobs that were measured
 * together and others.
 */
#include "partition/type_model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct hes_partition_model {
	struct type_model *v;
	size_t n;
};

double type_model_base_w(const struct type_model *m, uint32_t clock_mhz)
{
	for (size_t i = 0; i < m->n_bases; i++)
		if (m->bases[i].clock_mhz == clock_mhz)
			return m->bases[i].watts;
	return m->g->idle_power_mw * 1e-3;
}

struct co_run type_model_run(const struct type_model *m, double clock_mhz, size_t n)
{
	struct co_run r = { .g = m->g,
			    .clock_mhz = clock_mhz,
			    .base_w = type_model_base_w(m, (uint32_t)clock_mhz),
			    .n = n };

	memcpy(r.constant, m->interference.mean, sizeof(r.constant));
	return r;
}

void type_model_combine(const struct type_model *m, const struct co_run *r, int kind,
			const double *rate, double power, struct hes_partition_estimate *out)
{
	for (size_t i = 0; i < r->n; i++)
		out->rate[i] = r->rate[i] * exp(m->weight[TYPE_RATE][kind] * rate[i]);
	out->power_w = fmin(r->power_w * exp(m->weight[TYPE_POWER][kind] * power),
			    r->g->power_limit_mw * 1e-3);
}

int type_compare_who(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int kind_of(const struct type_model *m, const struct co_run *r)
{
	uint64_t who = co_run_who(r);

	return m->n_known && bsearch(&who, m->known, m->n_known, sizeof(who), type_compare_who)
		       ? TYPE_SEEN
		       : TYPE_UNSEEN;
}

void type_model_predict(const struct type_model *m, struct co_run *r,
			struct hes_partition_estimate *out)
{
	const int kind = kind_of(m, r);
	double rate[HES_PARTITION_MAX_JOBS] = { 0 }, power = 0;
	float row[CO_JOB];

	if (r->n == 1) { /* as measured */
		out->rate[0] = r->job[0].alone.rate;
		out->power_w = r->job[0].alone.power_w;
		return;
	}
	co_run_compose(r);
	for (size_t i = 0; i < r->n && m->weight[TYPE_RATE][kind] > 0; i++) {
		co_features_job(r, i, row);
		ensemble_predict(&m->trees[TYPE_RATE], row, &rate[i]);
	}
	if (m->weight[TYPE_POWER][kind] > 0) {
		co_features_power(r, row);
		ensemble_predict(&m->trees[TYPE_POWER], row, &power);
	}
	type_model_combine(m, r, kind, rate, power, out);
}

void type_model_free(struct type_model *m)
{
	for (int o = 0; o < TYPE_OUTPUTS; o++)
		ensemble_finish(&m->trees[o]);
	free(m->bases);
	free(m->known);
}

int hes_partition_train(const struct hes_points *p, const struct hes_share_profiles *solo,
			const struct hes_gpu_type *const *types, size_t n_types,
			struct hes_partition_model **out, struct hes_err *err)
{
	struct hes_partition_model *m = calloc(1, sizeof(*m));
	int rc = 0;

	if (m)
		m->v = calloc(n_types + 1, sizeof(*m->v));
	if (!m || !m->v)
		rc = hes_fail(err, -ENOMEM, "out of memory for a partition model");
	for (; !rc && m->n < n_types; m->n++) {
		m->v[m->n].g = types[m->n];
		rc = type_model_learn(&m->v[m->n], p, solo, err);
	}
	if (rc) {
		hes_partition_free(m);
		return rc;
	}
	*out = m;
	return 0;
}

void hes_partition_free(struct hes_partition_model *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++)
		type_model_free(&m->v[i]);
	free(m->v);
	free(m);
}

const struct type_model *partition_type_model(const struct hes_partition_model *m,
					      const struct hes_gpu_type *g)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->v[i].g == g)
			return &m->v[i];
	return NULL;
}

const struct hes_partition_info *hes_partition_about(const struct hes_partition_model *m,
						     const struct hes_gpu_type *g)
{
	const struct type_model *t = partition_type_model(m, g);

	return t ? &t->info : NULL;
}

void hes_partition_predict(const struct hes_partition_model *m, const struct hes_gpu_type *g,
			   const struct hes_share_profile *const *jobs, size_t n,
			   const uint32_t *sm_pct, struct hes_partition_estimate *out)
{
	const struct type_model *t = partition_type_model(m, g);
	struct co_run r = type_model_run(t, jobs[0]->clock_mhz, n);

	for (size_t i = 0; i < n; i++)
		co_job_at(jobs[i], g, sm_pct[i], &r.job[i]);
	type_model_predict(t, &r, out);
}
