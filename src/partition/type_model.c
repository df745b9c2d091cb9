/*
 * type_model.c - predict jobs that share a GPU of one type; see type_model.h. type_learn.c trains
 * it.
 *
 * The corrected method multiplies the closed form's rates and power by corrections, which trees
 * predict as logarithms. A weight from cross-validation, 0 to 1, scales each logarithm; it differs
 * between jobs that were measured together and others.
 */
#include "partition/type_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool type_model_paper(const struct type_model *m)
{
	return m->info.options.method == HES_PARTITION_PAPER;
}

size_t type_model_width(const struct type_model *m, int output)
{
	if (type_model_paper(m))
		return output == TYPE_RATE ? CO_PAPER_RATE : CO_PAPER_POWER;
	return output == TYPE_RATE ? CO_JOB : CO_POWER;
}

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

double type_output_predict(const struct type_output *o, size_t width, const float *row)
{
	float scaled[CO_FEATURES_MAX];
	double out = 0;

	if (!o->trees)
		return 0;
	for (size_t i = 0; i < width; i++)
		scaled[i] = o->range[i] > 0 ? (row[i] - o->min[i]) / o->range[i] : row[i];
	hes_regressor_predict(o->trees, scaled, &out);
	return out;
}

void type_model_combine(const struct type_model *m, const struct co_run *r, int kind,
			const double *rate, double power, struct hes_partition_estimate *out)
{
	double sum = 0;

	for (size_t i = 0; i < r->n; i++)
		sum += r->job[i].alone.rate;
	for (size_t i = 0; i < r->n; i++)
		if (type_model_paper(
			    m)) /* it predicts the sum; each job gets its part of the sum alone */
			out->rate[i] = rate[0] * r->job[i].alone.rate / sum;
		else
			out->rate[i] = r->rate[i] * exp(m->of[TYPE_RATE].weight[kind] * rate[i]);
	if (type_model_paper(m))
		out->power_w = power;
	else
		out->power_w = fmin(r->power_w * exp(m->of[TYPE_POWER].weight[kind] * power),
				    r->g->power_limit_mw * 1e-3);
}

static int compare_who(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int kind_of(const struct type_model *m, const struct co_run *r)
{
	uint64_t who = co_run_who(r);

	return m->n_known && bsearch(&who, m->known, m->n_known, sizeof(who), compare_who)
		       ? TYPE_SEEN
		       : TYPE_UNSEEN;
}

static void predict_paper(const struct type_model *m, const struct co_run *r,
			  struct hes_partition_estimate *out)
{
	float row[CO_PAPER_RATE];
	double rate;

	co_features_paper(r, row);
	rate = type_output_predict(&m->of[TYPE_RATE], CO_PAPER_RATE, row);
	type_model_combine(m, r, TYPE_SEEN, &rate,
			   type_output_predict(&m->of[TYPE_POWER], CO_PAPER_POWER, row), out);
}

static void predict_corrected(const struct type_model *m, struct co_run *r,
			      struct hes_partition_estimate *out)
{
	int kind = kind_of(m, r);
	double rate[HES_PARTITION_MAX_JOBS] = { 0 }, power = 0;
	float row[CO_FEATURES_MAX];

	co_run_compose(r);
	for (size_t i = 0; i < r->n && m->of[TYPE_RATE].weight[kind] > 0; i++) {
		co_features_job(r, i, row);
		rate[i] = type_output_predict(&m->of[TYPE_RATE], CO_JOB, row);
	}
	if (m->of[TYPE_POWER].weight[kind] > 0) {
		co_features_power(r, row);
		power = type_output_predict(&m->of[TYPE_POWER], CO_POWER, row);
	}
	type_model_combine(m, r, kind, rate, power, out);
}

void type_model_predict(const struct type_model *m, struct co_run *r,
			struct hes_partition_estimate *out)
{
	if (r->n == 1) { /* as measured */
		out->rate[0] = r->job[0].alone.rate;
		out->power_w = r->job[0].alone.power_w;
	} else if (type_model_paper(m)) {
		predict_paper(m, r, out);
	} else {
		predict_corrected(m, r, out);
	}
}

void type_model_free(struct type_model *m)
{
	for (int o = 0; o < TYPE_OUTPUTS; o++)
		hes_regressor_free(m->of[o].trees);
	free(m->bases);
	free(m->known);
}
