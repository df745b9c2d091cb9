/*
 * workload_prior.c - estimate parameters of an unknown workload from those of the known networks;
 * see workload_prior.h.
 *
 * Neither correlations between parameters nor a mixture of priors, one for each network, predicted
 * networks that were left out any better.
 */
#include "model/workload_prior.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/texts.h"

#define N                HES_PRIOR_PARAMS
#define HOST             6 /* host_us in params[] */
#define COUNT(a)         (sizeof(a) / sizeof((a)[0]))
#define LEAST_NETWORKS   4
#define SPREAD_OF_FACT   0.1 /* least spread of a parameter that a fact gives */
#define SPREAD_OTHERWISE 0.5

/* Against TF32, as for the loops of inference.c. */
static const double efficiency_in[HES_MATHS] = {
	[HES_MATH_FP32] = 8, [HES_MATH_TF32] = 1, [HES_MATH_FP16] = 1
};
static const double bytes_in[HES_MATHS] = {
	[HES_MATH_FP32] = 1, [HES_MATH_TF32] = 1, [HES_MATH_FP16] = .5
};

#define ROW(m, least, most)                                       \
	{                                                         \
#m, offsetof(struct hes_workload, m), least, most \
	}
static const struct hes_param params[N] = {
	ROW(gflop_per_item, 1e-4, 1e9),
	ROW(traffic_mib_per_item, 1e-3, 1e9),
	ROW(traffic_mib, 0.1, 1e9),
	ROW(efficiency, 0.02, 3),
	ROW(parallel_sms, 0.1, 1e4),
	ROW(parallel_growth, 0.02, 1),
	ROW(host_us, 10, 1e8),
	ROW(serial_us, 1, 1e8),
	ROW(serial_us_per_item, 0.01, 1e8),
	ROW(activity, 0.1, 5),
};

/* A parameter's value below which no time is noticed; and the fact that it grows with, by its
 * offset + 1; 0: none. */
#define WITH(fact) (offsetof(struct hes_workload_facts, fact) + 1)
static const struct {
	double unnoticed;
	size_t fact;
} about[N] = {
	{ 1e-3, WITH(gflop_per_item) },
	{ 1e-2, WITH(traffic_mib_per_item) },
	{ 1, WITH(weights_mib) },
	{ 0.02, 0 },
	{ 0.1, 0 },
	{ 0.02, 0 },
	{ 100, WITH(kernels) },
	{ 50, 0 },
	{ 1, 0 },
	{ 0.1, 0 },
};

static double fact_of(const struct hes_workload_facts *f, size_t i)
{
	return about[i].fact ? *(const double *)(const void *)((const char *)f + about[i].fact - 1)
			     : 0;
}

static bool is_measured(const struct hes_workload *w)
{
	return !strcmp(w->framework, "pytorch") && strcmp(w->origin, HES_MODEL_DERIVED) != 0;
}

bool hes_prior_counts(const struct hes_model *m, size_t i)
{
	const struct hes_workload *w = &m->workloads[i];

	/* Parameters taken from a sibling say nothing new. */
	for (size_t k = 0; k < i; k++)
		if (is_measured(&m->workloads[k]) && m->workloads[k].efficiency == w->efficiency &&
		    m->workloads[k].parallel_sms == w->parallel_sms)
			return false;
	return is_measured(w);
}

static struct hes_workload in_math(struct hes_workload w, enum hes_math math)
{
	w.efficiency *= efficiency_in[math] / efficiency_in[w.math];
	w.traffic_mib *= bytes_in[math] / bytes_in[w.math];
	w.traffic_mib_per_item *= bytes_in[math] / bytes_in[w.math];
	w.working_set_mib *= bytes_in[math] / bytes_in[w.math];
	w.math = math;
	return w;
}

/* Logarithms of the parameters of a network; of those that grow with a fact in @f, against the
 * network's own fact. */
static void logs_of(const struct hes_workload *network, const struct hes_workload_facts *f,
		    double out[N])
{
	struct hes_workload w = *network;
	const struct hes_workload_facts own = { .gflop_per_item = w.gflop_per_item,
						.weights_mib = w.traffic_mib,
						.traffic_mib_per_item = w.traffic_mib_per_item,
						.kernels = w.kernels };

	for (size_t i = 0; i < N; i++) {
		out[i] = log(fmin(fmax(*hes_param_in(&params[i], &w), about[i].unnoticed),
				  params[i].max));
		if (fact_of(f, i) > 0)
			out[i] -= log(fmax(fact_of(&own, i), about[i].unnoticed));
	}
}

/* Over the known networks. */
struct sums {
	size_t n;
	double logs[N], squares[N];
	struct hes_workload plain, in_logs; /* of each parameter and of its logarithm */
	double memory, memory_per_traffic; /* of logarithms; memory: what is left without weights */
};

static void add_network(struct sums *s, struct hes_workload *w, const struct hes_workload_facts *f)
{
	double x[N];

	logs_of(w, f, x);
	for (size_t i = 0; i < N; i++) {
		s->logs[i] += x[i];
		s->squares[i] += x[i] * x[i];
	}
	for (size_t i = 0; i < hes_workload_param_count; i++) {
		const double v = *hes_param_in(&hes_workload_params[i], w);

		*hes_param_in(&hes_workload_params[i], &s->plain) += v;
		*hes_param_in(&hes_workload_params[i], &s->in_logs) += log(v);
	}
	s->memory += log(fmax(1, w->memory_mib - w->traffic_mib));
	s->memory_per_traffic +=
		log(fmax(1, w->memory_mib_per_item) / fmax(1e-2, w->traffic_mib_per_item));
	s->n++;
}

static int no_such_network(const struct hes_model *m, const char *name, struct hes_err *err)
{
	char have[400] = "";

	for (size_t i = 0; i < m->n_workloads; i++)
		if (hes_prior_counts(m, i))
			hes_text_add(have, sizeof(have), ", ", "%s", m->workloads[i].name);
	return hes_fail(err, -ENOENT, "\"%s\" is not one of the known networks: %s", name, have);
}

struct hes_workload hes_prior_at(const struct hes_workload_prior *p, const double *x)
{
	struct hes_workload w = p->base;

	for (size_t i = 0; i < N; i++)
		*hes_param_in(&params[i], &w) =
			fmin(fmax(exp(p->mean[i] + x[i]), params[i].min), params[i].max);
	return w;
}

/* Standard deviation of what the next network has, by few before it: Student's t distribution. */
static double spread_of_next(const struct sums *s, size_t i)
{
	const double n = (double)s->n, mean = s->logs[i] / n;

	return sqrt(fmax(0, s->squares[i] - n * mean * mean) / (n - 3) * (1 + 1 / n));
}

/* What no fit changes: geometric means; arithmetic ones where a network has 0. */
static struct hes_workload typical(struct sums *s, const struct hes_workload_facts *f,
				   enum hes_math math)
{
	struct hes_workload w = s->plain;

	for (size_t i = 0; i < hes_workload_param_count; i++) {
		const double logs = *hes_param_in(&hes_workload_params[i], &s->in_logs);
		double *v = hes_param_in(&hes_workload_params[i], &w);

		*v = isfinite(logs) ? exp(logs / (double)s->n) : *v / (double)s->n;
	}
	w.math = math;
	w.kernels = f->kernels > 0 ? f->kernels : w.kernels;
	return w;
}

/* Host time of a program style, whatever the network. */
static void take_style(const struct hes_model *m, enum hes_style style,
		       struct hes_workload_prior *out)
{
	out->base.style = style;
	if (style == HES_STYLE_EAGER && m->eager.host_us > 0) {
		out->mean[HOST] = log(m->eager.host_us);
		out->spread[HOST] = m->eager.host_spread;
	} else if (style == HES_STYLE_GRAPHS) {
		out->mean[HOST] = log(params[HOST].min);
		out->spread[HOST] = SPREAD_OF_FACT;
	}
}

int hes_workload_prior(const struct hes_model *m, const struct hes_workload_facts *facts,
		       enum hes_math math, struct hes_workload_prior *out, struct hes_err *err)
{
	static const double at_mean[N];
	struct sums all = { 0 }, some = { 0 };
	struct hes_workload w;

	for (size_t i = 0; i < m->n_workloads; i++) {
		if (!hes_prior_counts(m, i))
			continue;
		w = in_math(m->workloads[i], math);
		add_network(&all, &w, facts);
		if (!facts->like || !strcmp(facts->like, w.name))
			add_network(&some, &w, facts);
	}
	if (!some.n && all.n)
		return no_such_network(m, facts->like, err);
	if (all.n < LEAST_NETWORKS)
		return hes_fail(
			err, -ENODATA,
			"the model has %zu known networks; %d or more are needed to add one", all.n,
			LEAST_NETWORKS);
	for (size_t i = 0; i < N; i++) {
		const double fact = fact_of(facts, i);

		out->mean[i] = some.logs[i] / (double)some.n + (fact > 0 ? log(fact) : 0);
		out->spread[i] =
			fmax(spread_of_next(&all, i), fact > 0 ? SPREAD_OF_FACT : SPREAD_OTHERWISE);
	}
	out->base = typical(&some, facts, math);
	take_style(m, facts->style, out);
	w = hes_prior_at(out, at_mean);
	out->base.memory_mib = exp(some.memory / (double)some.n) + w.traffic_mib;
	out->base.memory_mib_per_item =
		exp(some.memory_per_traffic / (double)some.n) * w.traffic_mib_per_item;
	return 0;
}

const struct hes_workload *hes_prior_nearest(const struct hes_model *m,
					     const struct hes_workload_prior *p,
					     const struct hes_workload *w)
{
	static const struct hes_workload_facts nothing;
	const struct hes_workload *best = NULL;
	double least = INFINITY, own[N];

	logs_of(w, &nothing, own);
	for (size_t i = 0; i < m->n_workloads; i++) {
		struct hes_workload known;
		double sum = 0, x[N];

		if (!hes_prior_counts(m, i))
			continue;
		known = in_math(m->workloads[i], w->math);
		logs_of(&known, &nothing, x);
		for (size_t k = 0; k < N; k++)
			sum += (x[k] - own[k]) * (x[k] - own[k]) / (p->spread[k] * p->spread[k]);
		if (sum < least) {
			least = sum;
			best = &m->workloads[i];
		}
	}
	return best;
}
