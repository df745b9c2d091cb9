/*
 * derive_type.c - parameters of GPU types that nobody measured; see hes_model_derive() in heshare/model.h and
 * docs/gpu-model.md.
 *
 * A type takes the parameters of the measured type that is most like it, scaled by figures of data sheets.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/generation.h"
#include "model/params.h"

#define A100 80
#define GEFORCE_TENSOR 0.5 /* GeForce has half the tensor rate of its generation when it sums in FP32 */

/* A measured type that others can be derived from. */
struct sibling {
	const struct hes_gpu_type    *g;
	const struct hes_gpu_physics *p;
};

static uint32_t compute_of(const struct hes_gpu_type *g)
{
	return g->compute ? g->compute : A100;
}

/* How unlike two types are: generations apart, doublings of the SMs and of the power limit. */
static double distance(const struct hes_gpu_type *a, const struct hes_gpu_type *b)
{
	return fabs((double)compute_of(a) - compute_of(b)) / 10 + fabs(log2((double)a->sm_count / b->sm_count)) +
	       fabs(log2((double)a->power_limit_mw / b->power_limit_mw));
}

static struct sibling find_sibling(const struct hes_model *m, const struct hes_catalogue *c, const struct hes_gpu_type *g)
{
	struct sibling best = { 0 };

	for (size_t i = 0; i < c->n; i++) {
		const struct sibling s = { &c->types[i], hes_model_gpu(m, c->types[i].name) };

		if (s.p && strcmp(s.p->origin, HES_MODEL_DERIVED) != 0 && (!best.g || distance(g, s.g) < distance(g, best.g)))
			best = s;
	}
	return best;
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 1;
}

/* Peak rates of the data sheet, with the part of them that the sibling sustains. */
static void derive_rates(const struct hes_gpu_type *g, const struct sibling *s, struct hes_gpu_physics *p)
{
	const struct hes_generation *own = hes_generation_of(g->compute), *its = hes_generation_of(s->g->compute);
	double part = strncmp(g->name, "GeForce", 7) ? 1 : GEFORCE_TENSOR;

	p->rate[HES_MATH_FP32] = s->p->rate[HES_MATH_FP32] * own->cores_per_sm / its->cores_per_sm;
	p->rate[HES_MATH_TF32] = part * own->tf32 * ratio(s->p->rate[HES_MATH_TF32], its->tf32);
	/* Without tensor cores FP16 runs on the CUDA cores. */
	p->rate[HES_MATH_FP16] = own->fp16 ? part * own->fp16 * ratio(s->p->rate[HES_MATH_FP16], its->fp16)
					   : p->rate[HES_MATH_FP32];
}

/*
 * Within a generation an SM draws the same at the same clock. Between generations the power above idle follows the power
 * limit.
 */
static void derive_power(const struct hes_gpu_type *g, const struct sibling *s, struct hes_gpu_physics *p)
{
	double chip = compute_of(g) == compute_of(s->g)
		? (double)g->sm_count * g->clock_max_mhz / ((double)s->g->sm_count * s->g->clock_max_mhz)
		: (double)(g->power_limit_mw - g->idle_power_mw) / (s->g->power_limit_mw - s->g->idle_power_mw);

	p->context_w *= chip;
	p->switch_w *= chip;
	p->dram_w *= (double)g->memory_bandwidth_gbs / s->g->memory_bandwidth_gbs;
}

static void derive(const struct hes_gpu_type *g, const struct sibling *s, struct hes_gpu_physics *out)
{
	struct hes_gpu_physics p = *s->p;

	strcpy(p.type, g->name);
	strcpy(p.origin, HES_MODEL_DERIVED);
	derive_rates(g, s, &p);
	derive_power(g, s, &p);
	p.pcie_gbs = g->pcie_gbs > 0 ? g->pcie_gbs : p.pcie_gbs;
	p.host_factor = 1;
	/* A row may be extreme. */
	for (size_t i = 0; i < hes_gpu_param_count; i++) {
		double *v = hes_param_in(&hes_gpu_params[i], &p);

		*v = fmin(fmax(*v, hes_gpu_params[i].min), hes_gpu_params[i].max);
	}
	*out = p;
}

int hes_model_derive(struct hes_model *m, const struct hes_catalogue *c, struct hes_err *err)
{
	struct hes_gpu_physics *all = realloc(m->gpus, (m->n_gpus + c->n + 1) * sizeof(*all));

	if (!all)
		return hes_fail(err, -ENOMEM, "out of memory for the parameters of %zu GPU types", c->n);
	m->gpus = all;
	for (size_t i = 0; i < c->n; i++) {
		const struct sibling s = find_sibling(m, c, &c->types[i]);

		if (s.p && !hes_model_gpu(m, c->types[i].name))
			derive(&c->types[i], &s, &all[m->n_gpus++]);
	}
	return 0;
}

void hes_model_derived(const struct hes_model *m, const struct hes_gpu_type *const *types, size_t n, char *out, size_t size)
{
	size_t at = 0;

	out[0] = '\0';
	for (size_t i = 0; i < n && at < size; i++) {
		const struct hes_gpu_physics *p = hes_model_gpu(m, types[i]->name);

		if (p && strcmp(p->origin, HES_MODEL_DERIVED) == 0)
			at += (size_t)snprintf(out + at, size - at, "%s%s", at ? ", " : "", types[i]->name);
	}
}
