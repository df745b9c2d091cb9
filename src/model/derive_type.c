/*
 * derive_type.c - parameters of GPU types that nobody measured; see hes_model_derive() in
 * heshare/model.h and docs/gpu-model.md.
 *
 * A type takes the parameters of the measured type that is most like it, scaled by figures of data
 * sheets. A type that differs from a measured one in its memory's size alone takes its origin, too.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/texts.h"
#include "core/generation.h"
#include "model/params.h"

#define A100          80
#define FLOP_PER_CORE 2 /* a cycle */

/* A measured type that others can be derived from. */
struct sibling {
	const struct hes_gpu_type *g;
	const struct hes_gpu_physics *p;
};

static uint32_t compute_of(const struct hes_gpu_type *g)
{
	return g->compute ? g->compute : A100;
}

/*
 * How unlike two types are: generations apart, doublings of the SMs, another kind of memory;
 * between equals the power limit decides.
 */
static double distance(const struct hes_gpu_type *a, const struct hes_gpu_type *b)
{
	bool other = hes_generation_of(a->compute)->hbm != hes_generation_of(b->compute)->hbm;

	return (other ? .5 : 0) + fabs((double)compute_of(a) - compute_of(b)) / 10 +
	       fabs(log2((double)a->sm_count / b->sm_count)) +
	       .01 * fabs(log2((double)hes_gpu_type_default_limit_mw(a) /
			       hes_gpu_type_default_limit_mw(b)));
}

/* How unlike the voltage curves of two types are: that is a matter of the generation, and of the
 * power limit between types of one chip. */
static double curve_distance(const struct hes_gpu_type *a, const struct hes_gpu_type *b)
{
	return fabs((double)(compute_of(a) / 10) - compute_of(b) / 10) +
	       .03 * fabs((double)compute_of(a) - compute_of(b)) +
	       .1 * fabs(log2((double)hes_gpu_type_default_limit_mw(a) /
			      hes_gpu_type_default_limit_mw(b)));
}

/* A chip that was measured; nothing of @g's own chip when that is to be left out. */
static struct sibling measured(const struct hes_model *m, const struct hes_gpu_type *of,
			       const struct hes_gpu_type *g, bool leave_out)
{
	const struct hes_gpu_physics *p = hes_model_gpu(m, of->name);
	bool own = compute_of(of) == compute_of(g) && of->sm_count == g->sm_count;

	return p && strcmp(p->origin, HES_MODEL_DERIVED) != 0 && !(own && leave_out)
		       ? (struct sibling){ of, p }
		       : (struct sibling){ 0 };
}

typedef double distance_fn(const struct hes_gpu_type *a, const struct hes_gpu_type *b);

static struct sibling find_sibling(const struct hes_model *m, const struct hes_catalogue *c,
				   const struct hes_gpu_type *g, bool leave_out, distance_fn *far)
{
	struct sibling best = { 0 };

	for (size_t i = 0; i < c->n; i++) {
		const struct sibling s = measured(m, &c->types[i], g, leave_out);

		/* Power of a GPU that is a part of a chip is without its memory's. */
		if (s.p && (s.g->pcie_gbs > 0 || g->pcie_gbs == 0) &&
		    (!best.g || far(g, s.g) < far(g, best.g)))
			best = s;
	}
	return best;
}

/*
 * The part of the peak FP32 rate that measured types sustain: the mean of the PCIe cards whose
 * generation treats integer instructions as @g's does; 1 without any. It was fitted on P100 and
 * A40; V100, T4 and A100 are assumed to reach their peak.
 */
static double sustained_fp32(const struct hes_model *m, const struct hes_catalogue *c,
			     const struct hes_gpu_type *g, bool leave_out)
{
	double sum = 0, n = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct sibling s = measured(m, &c->types[i], g, leave_out);
		const struct hes_generation *gen = hes_generation_of(c->types[i].compute);

		if (!s.p || s.g->pcie_gbs == 0 ||
		    gen->shared_int != hes_generation_of(g->compute)->shared_int)
			continue;
		sum += s.p->rate[HES_MATH_FP32] / (FLOP_PER_CORE * gen->cores_per_sm);
		n++;
	}
	return n > 0 ? sum / n : 1;
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 1;
}

/* Peak rates of the data sheet; of the tensor cores', the part that the sibling sustains. */
static void derive_rates(const struct hes_gpu_type *g, const struct sibling *s, double fp32,
			 struct hes_gpu_physics *p)
{
	const struct hes_generation *own = hes_generation_of(g->compute),
				    *its = hes_generation_of(s->g->compute);

	p->rate[HES_MATH_FP32] = fp32 * FLOP_PER_CORE * own->cores_per_sm;
	p->rate[HES_MATH_TF32] = own->tf32 * ratio(s->p->rate[HES_MATH_TF32], its->tf32);
	/* Without tensor cores FP16 runs on the CUDA cores. */
	p->rate[HES_MATH_FP16] = own->fp16 ? own->fp16 * ratio(s->p->rate[HES_MATH_FP16], its->fp16)
					   : p->rate[HES_MATH_FP32];
}

/* The chip's by SMs and clock, of the generation that the voltage @curve is from; the memory's by
 * bandwidth, and what a context draws by the power limit less idle power. */
static void derive_power(const struct hes_gpu_type *g, const struct sibling *s,
			 const struct sibling *curve, struct hes_gpu_physics *p)
{
	const double chip = (double)g->sm_count * g->clock_max_mhz /
			    ((double)s->g->sm_count * s->g->clock_max_mhz);

	p->switch_w = curve->p->switch_w * g->sm_count * g->clock_max_mhz /
		      ((double)curve->g->sm_count * curve->g->clock_max_mhz);
	p->clocked_w *= chip;
	p->dram_w *= (double)g->memory_bandwidth_gbs / s->g->memory_bandwidth_gbs;
	p->context_w *= (double)(hes_gpu_type_default_limit_mw(g) - g->idle_power_mw) /
			(hes_gpu_type_default_limit_mw(s->g) - s->g->idle_power_mw);
}

/* No more than the memory differs, so what was measured on one holds for the other. */
static bool same_chip(const struct hes_gpu_type *a, const struct hes_gpu_type *b)
{
	return compute_of(a) == compute_of(b) && a->sm_count == b->sm_count &&
	       a->memory_bandwidth_gbs == b->memory_bandwidth_gbs && a->l2_kib == b->l2_kib &&
	       a->pcie_gbs == b->pcie_gbs && a->idle_power_mw == b->idle_power_mw &&
	       hes_gpu_type_default_limit_mw(a) == hes_gpu_type_default_limit_mw(b) &&
	       a->clock_min_mhz == b->clock_min_mhz && a->clock_max_mhz == b->clock_max_mhz &&
	       a->clock_default_mhz == b->clock_default_mhz;
}

static void derive(const struct hes_gpu_type *g, const struct sibling *s,
		   const struct sibling *curve, double fp32, struct hes_gpu_physics *out)
{
	struct hes_gpu_physics p = *s->p;

	strcpy(p.type, g->name);
	if (same_chip(g, s->g)) {
		*out = p;
		return;
	}
	strcpy(p.origin, HES_MODEL_DERIVED);
	derive_rates(g, s, fp32, &p);
	derive_power(g, s, curve, &p);
	p.volt_min = curve->p->volt_min;
	p.volt_knee = curve->p->volt_knee;
	p.volt_bend = curve->p->volt_bend;
	p.pcie_gbs = g->pcie_gbs > 0 ? g->pcie_gbs : p.pcie_gbs;
	p.host_factor = 1;
	p.volt_spread = p.interference_spread = 0;
	/* A row may be extreme. */
	for (size_t i = 0; i < hes_gpu_param_count; i++) {
		double *v = hes_param_in(&hes_gpu_params[i], &p);

		*v = fmin(fmax(*v, hes_gpu_params[i].min), hes_gpu_params[i].max);
	}
	*out = p;
}

/* Every type that @m has nothing for, or with @leave_out every measured one; @return how many were
 * added to @out. */
static size_t derive_all(const struct hes_model *m, const struct hes_catalogue *c, bool leave_out,
			 struct hes_gpu_physics *out)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct hes_gpu_type *g = &c->types[i];
		const struct sibling s = find_sibling(m, c, g, leave_out, distance),
				     curve = find_sibling(m, c, g, leave_out, curve_distance);

		if (s.p &&
		    (leave_out ? measured(m, g, g, false).p != NULL : !hes_model_gpu(m, g->name)))
			derive(g, &s, &curve, sustained_fp32(m, c, g, leave_out), &out[n++]);
	}
	return n;
}

int hes_model_derive(struct hes_model *m, const struct hes_catalogue *c, struct hes_err *err)
{
	struct hes_gpu_physics *left_out = calloc(c->n + 1, sizeof(*left_out));
	struct hes_gpu_physics *all = realloc(m->gpus, (m->n_gpus + c->n + 1) * sizeof(*all));

	if (all)
		m->gpus = all;
	if (!all || !left_out) {
		free(left_out);
		return hes_fail(err, -ENOMEM, "out of memory for the parameters of %zu GPU types",
				c->n);
	}
	free(m->left_out);
	m->left_out = left_out;
	m->n_left_out = derive_all(m, c, true, left_out);
	m->n_gpus += derive_all(m, c, false, &m->gpus[m->n_gpus]);
	return 0;
}

void hes_model_derived(const struct hes_model *m, const struct hes_gpu_type *const *types, size_t n,
		       char *out, size_t size)
{
	out[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		const struct hes_gpu_physics *p = hes_model_gpu(m, types[i]->name);

		if (p && strcmp(p->origin, HES_MODEL_DERIVED) == 0)
			hes_text_add(out, size, ", ", "%s", types[i]->name);
	}
}
