/*
 * vary.c - a model with parameters drawn within their uncertainty; see hes_model_varied() in
 * heshare/model.h.
 *
 * Parameters vary independently on a logarithmic scale. Spreads come from left-out errors
 * (docs/gpu-model.md): what was fitted varies less than what was derived. The interference of
 * co-runners is that of a fit which left a network out.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "model/params.h"

#define FARTHEST    2.5   /* spreads */
#define NINE_IN_TEN 1.645 /* spreads from the mean */
/* Spreads of a type without measurements: power at locked clocks was so far off before any were
 * fitted; V100, A100 and H100 interfere so differently. */
#define VOLTAGE      .15
#define INTERFERENCE .8

static const struct spread {
	const char *param;
	double fitted, derived; /* standard deviation of the logarithm */
} gpu_spreads[] = { { "bandwidth_fraction", .04, .08 },
		    { "saturating_share", .2, .3 },
		    { "launch_us", .2, .3 },
		    { "pcie_gbs", .1, .2 },
		    { "host_factor", .1, .2 },
		    { "context_w", .15, .3 },
		    { "switch_w", .06, .12 },
		    { "stall", .15, .25 },
		    { "dram_w", .15, .25 },
		    { "clocked_w", .15, .3 },
		    { "volt_knee", .05, .1 },
		    { "volt_bend", .1, .2 },
		    { 0 } },
  rate_spread = { "rate", .05, .2 },
  workload_spreads[] = { { "efficiency", .05, .15 },
			 { "traffic_mib_per_item", .1, .25 },
			 { "traffic_mib", .1, .25 },
			 { "parallel_sms", .1, .25 },
			 { "host_us", .3, .3 },
			 { "serial_us", .3, .3 },
			 { "serial_us_per_item", .3, .3 },
			 { "working_set_mib", .2, .3 },
			 { "activity", .05, .1 },
			 { 0 } },
  nature_spreads[] = { { "transfer_interference", .3, .3 },
		       { "host_interference", .3, .3 },
		       { "fp32_reach", .1, .1 },
		       { 0 } };

static double factor(struct hes_rng *rng, const struct spread *s, bool derived)
{
	double z = hes_rng_normal(rng);

	return exp((derived ? s->derived : s->fitted) * fmin(fmax(z, -FARTHEST), FARTHEST));
}

static void vary_params(struct hes_rng rng, const struct spread *spreads, void *object,
			const struct hes_param *table, size_t n, bool derived)
{
	for (const struct spread *s = spreads; s->param; s++)
		for (size_t i = 0; i < n; i++) {
			double *v = hes_param_in(&table[i], object);

			if (strcmp(table[i].name, s->param) == 0 && *v > 0)
				*v = fmin(fmax(*v * factor(&rng, s, derived), table[i].min),
					  table[i].max);
		}
}

static bool is_derived(const char *origin)
{
	return strcmp(origin, HES_MODEL_DERIVED) == 0;
}

/* What types tell of by themselves. */
static void vary_measured(struct hes_rng rng, struct hes_gpu_physics *p)
{
	const double volt = p->volt_spread > 0 ? p->volt_spread : VOLTAGE,
		     interference =
			     p->interference_spread > 0 ? p->interference_spread : INTERFERENCE;
	const struct spread own[] = { { "volt_min", volt, volt },
				      { "interference", interference, interference },
				      { 0 } };

	vary_params(rng, own, p, hes_gpu_params, hes_gpu_param_count, false);
}

/* All rates of a type by one factor: an error of the sustained clock or of the host's part, say. */
static void vary_rates(struct hes_rng rng, struct hes_gpu_physics *p)
{
	double f = factor(&rng, &rate_spread, is_derived(p->origin));

	for (size_t i = 0; i < HES_MATHS; i++)
		p->rate[i] *= f;
}

/* A factor of which nine in ten lie between those of @f. */
static double within(struct hes_rng *rng, const struct hes_factors *f)
{
	const double middle = (log(f->low) + log(f->high)) / 2,
		     spread = (log(f->high) - log(f->low)) / (2 * NINE_IN_TEN);

	return exp(middle + spread * fmin(fmax(hes_rng_normal(rng), -FARTHEST), FARTHEST));
}

/* What a user added is as slow, and draws as much, as its error to expect allows. */
static void vary_added(struct hes_rng rng, struct hes_workload *w)
{
	double *const times[] = {
		&w->gflop_per_item,    &w->traffic_mib,       &w->traffic_mib_per_item,
		&w->copy_mib_per_item, &w->kernels,           &w->host_us,
		&w->serial_us,         &w->serial_us_per_item
	};
	const double time = within(&rng, &w->time_factors);

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		*times[i] *= time;
	if (w->power_factors.high > 0)
		w->activity *= within(&rng, &w->power_factors);
}

static void vary_workload(struct hes_rng rng, const struct hes_eager *e, struct hes_workload *w)
{
	const double host_us = w->host_us;

	if (w->time_factors.high > 0)
		vary_added(rng, w);
	else
		vary_params(rng, workload_spreads, w, hes_workload_params, hes_workload_param_count,
			    is_derived(w->origin));
	if (w->style != HES_STYLE_EAGER)
		return;
	rng = hes_rng_fork(&rng, 0);
	w->host_us = host_us * factor(&rng, &(struct spread){ NULL, e->host_spread, 0 }, false);
	w->start_s *= factor(&rng, &(struct spread){ NULL, e->start_spread, 0 }, false);
}

/* A fit without a network is of the pairs alone: later ones have changed the rest of nature. */
static void take_interference(struct hes_nature *to, const struct hes_nature *held_out)
{
	to->transfer_interference = held_out->transfer_interference;
	to->host_interference = held_out->host_interference;
}

static void vary(struct hes_model *m, uint64_t seed)
{
	struct hes_rng rng, part;

	hes_rng_seed(&rng, seed ^ 0x76617279u);
	part = hes_rng_fork(&rng, 0);
	if (m->n_held_out)
		take_interference(&m->nature,
				  &m->held_out[hes_rng_below(&part, m->n_held_out)].nature);
	vary_params(part, nature_spreads, &m->nature, hes_nature_params, hes_nature_param_count,
		    false);
	for (size_t i = 0; i < m->n_gpus; i++) {
		part = hes_rng_fork(&rng, 1 + 2 * i);
		vary_params(part, gpu_spreads, &m->gpus[i], hes_gpu_params, hes_gpu_param_count,
			    is_derived(m->gpus[i].origin));
		vary_rates(hes_rng_fork(&part, 0), &m->gpus[i]);
		vary_measured(hes_rng_fork(&part, 1), &m->gpus[i]);
	}
	for (size_t i = 0; i < m->n_workloads; i++)
		vary_workload(hes_rng_fork(&rng, 2 + 2 * i), &m->eager, &m->workloads[i]);
}

static bool copy_of(const void *from, size_t n, size_t size, void *out)
{
	void *v = malloc(n ? n * size : 1);

	if (v && n)
		memcpy(v, from, n * size);
	*(void **)out = v;
	return v;
}

int hes_model_varied(const struct hes_model *m, uint64_t seed, struct hes_model **out,
		     struct hes_err *err)
{
	struct hes_model *v = calloc(1, sizeof(*v));

	if (!v)
		return hes_fail(err, -ENOMEM, "out of memory for a model");
	*v = *m;
	v->gpus = NULL;
	v->workloads = NULL;
	v->left_out = NULL;
	v->held_out = NULL;
	if (!copy_of(m->gpus, m->n_gpus, sizeof(*m->gpus), &v->gpus) ||
	    !copy_of(m->workloads, m->n_workloads, sizeof(*m->workloads), &v->workloads) ||
	    !copy_of(m->left_out, m->n_left_out, sizeof(*m->left_out), &v->left_out) ||
	    !copy_of(m->held_out, m->n_held_out, sizeof(*m->held_out), &v->held_out)) {
		hes_model_free(v);
		return hes_fail(err, -ENOMEM, "out of memory for a model");
	}
	vary(v, seed);
	*out = v;
	return 0;
}
