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

/* A type to derive, and what it is derived from. */
struct target {
	const struct hes_model *m;
	const struct hes_catalogue *c;
	const struct hes_gpu_type *g;
	bool leave_out; /* nothing of its own chip */
};

static bool same_die(const struct hes_gpu_type *a, const struct hes_gpu_type *b)
{
	return compute_of(a) == compute_of(b) && a->sm_count == b->sm_count;
}

/* The @i-th type of the catalogue, if it was measured and may be used. */
static struct sibling measured(const struct target *t, size_t i)
{
	const struct hes_gpu_type *of = &t->c->types[i];
	const struct hes_gpu_physics *p = hes_model_gpu(t->m, of->name);

	return p && strcmp(p->origin, HES_MODEL_DERIVED) != 0 &&
			       !(t->leave_out && same_die(of, t->g))
		       ? (struct sibling){ of, p }
		       : (struct sibling){ 0 };
}

typedef double distance_fn(const struct hes_gpu_type *a, const struct hes_gpu_type *b);

static struct sibling find_sibling(const struct target *t, distance_fn *far)
{
	struct sibling best = { 0 };

	for (size_t i = 0; i < t->c->n; i++) {
		const struct sibling s = measured(t, i);

		/* Power of a GPU that is a part of a chip is without its memory's. */
		if (s.p && (s.g->pcie_gbs > 0 || t->g->pcie_gbs == 0) &&
		    (!best.g || far(t->g, s.g) < far(t->g, best.g)))
			best = s;
	}
	return best;
}

/* Chips that a mean is over: all, of one generation, of its kind of memory, or that treat integer
 * instructions as it does. */
enum like { ANY, GENERATION, MEMORY, INTEGERS };

static bool is_like(enum like l, const struct hes_generation *a, const struct hes_generation *b)
{
	return l == ANY || (l == GENERATION ? a == b
			    : l == MEMORY   ? a->hbm == b->hbm
					    : a->shared_int == b->shared_int);
}

/* What a parameter grows with from type to type; NULL: it is the same. */
typedef double scale_fn(const struct hes_gpu_type *g);

static double above_idle(const struct hes_gpu_type *g)
{
	return (double)hes_gpu_type_default_limit_mw(g) - g->idle_power_mw;
}

static double bandwidth(const struct hes_gpu_type *g)
{
	return g->memory_bandwidth_gbs;
}

static double peak_fp32(const struct hes_gpu_type *g)
{
	return FLOP_PER_CORE * hes_generation_of(g->compute)->cores_per_sm;
}

/* The parameter at @offset as the mean over the measured chips on PCIe that are like @of; @none
 * without any. Types of one chip share its weight. */
static double mean_of_chips(const struct target *t, enum like l, const struct hes_generation *of,
			    size_t offset, scale_fn *scale, double none)
{
	double sum = 0, n = 0;

	for (size_t i = 0; i < t->c->n; i++) {
		const struct sibling s = measured(t, i);
		double types = 0;

		if (!s.p || s.g->pcie_gbs == 0 || !is_like(l, hes_generation_of(s.g->compute), of))
			continue;
		for (size_t k = 0; k < t->c->n; k++)
			types += measured(t, k).p && same_die(&t->c->types[k], s.g);
		sum += *(const double *)(const void *)((const char *)s.p + offset) /
		       (scale ? scale(s.g) : 1) / types;
		n += 1 / types;
	}
	return n > 0 ? sum / n * (scale ? scale(t->g) : 1) : none;
}

#define MEAN(t, l, of, p, name, scale) \
	(p)->name =                    \
		mean_of_chips(t, l, of, offsetof(struct hes_gpu_physics, name), scale, (p)->name)

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 1;
}

/* Peak rates of the data sheet; of the tensor cores', the part that the sibling sustains. That of
 * FP32 was fitted on P100 and A40; V100, T4 and A100 are assumed to reach their peak. */
static void derive_rates(const struct target *t, const struct sibling *s, struct hes_gpu_physics *p)
{
	const struct hes_generation *own = hes_generation_of(t->g->compute),
				    *its = hes_generation_of(s->g->compute);

	p->rate[HES_MATH_FP32] = peak_fp32(t->g);
	MEAN(t, INTEGERS, own, p, rate[HES_MATH_FP32], peak_fp32);
	p->rate[HES_MATH_TF32] = own->tf32 * ratio(s->p->rate[HES_MATH_TF32], its->tf32);
	/* Without tensor cores FP16 runs on the CUDA cores. */
	p->rate[HES_MATH_FP16] = own->fp16 ? own->fp16 * ratio(s->p->rate[HES_MATH_FP16], its->fp16)
					   : p->rate[HES_MATH_FP32];
}

static double chip(const struct hes_gpu_type *g)
{
	return (double)g->sm_count * g->clock_max_mhz;
}

/* The chip's by SMs and clock, of the generation that the voltage curve is from; the memory's by
 * bandwidth, and what a context draws by the power limit less idle power. Types of another
 * generation tell little of these two and of the voltage, so then they are means. */
static void derive_power(const struct target *t, const struct sibling *s,
			 const struct sibling *curve, struct hes_gpu_physics *p)
{
	const struct hes_gpu_type *g = t->g;
	const struct hes_generation *own = hes_generation_of(g->compute),
				    *nearest = hes_generation_of(curve->g->compute);

	p->switch_w = curve->p->switch_w * chip(g) / chip(curve->g);
	p->clocked_w *= chip(g) / chip(s->g);
	p->dram_w *= bandwidth(g) / bandwidth(s->g);
	p->context_w *= above_idle(g) / above_idle(s->g);
	if (own != hes_generation_of(s->g->compute) && g->pcie_gbs > 0) {
		MEAN(t, ANY, own, p, dram_w, bandwidth);
		MEAN(t, MEMORY, own, p, context_w, above_idle);
	}
	p->volt_min = curve->p->volt_min;
	p->volt_knee = curve->p->volt_knee;
	p->volt_bend = curve->p->volt_bend;
	if (own != nearest) {
		MEAN(t, GENERATION, nearest, p, volt_min, NULL);
		MEAN(t, GENERATION, nearest, p, volt_knee, NULL);
		MEAN(t, GENERATION, nearest, p, volt_bend, NULL);
	}
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

static struct hes_gpu_physics derive(const struct target *t, const struct sibling *s)
{
	const struct sibling curve = find_sibling(t, curve_distance);
	const struct hes_gpu_type *g = t->g;
	struct hes_gpu_physics p = *s->p;

	strcpy(p.type, g->name);
	if (same_chip(g, s->g))
		return p;
	strcpy(p.origin, HES_MODEL_DERIVED);
	derive_rates(t, s, &p);
	derive_power(t, s, &curve, &p);
	p.pcie_gbs = g->pcie_gbs > 0 ? g->pcie_gbs : p.pcie_gbs;
	p.host_factor = 1;
	p.volt_spread = p.interference_spread = 0;
	/* A row may be extreme. */
	for (size_t i = 0; i < hes_gpu_param_count; i++) {
		double *v = hes_param_in(&hes_gpu_params[i], &p);

		*v = fmin(fmax(*v, hes_gpu_params[i].min), hes_gpu_params[i].max);
	}
	return p;
}

/* Every type that @m has nothing for, or with @leave_out every measured one; @return how many were
 * added to @out. */
static size_t derive_all(const struct hes_model *m, const struct hes_catalogue *c, bool leave_out,
			 struct hes_gpu_physics *out)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		struct target t = { m, c, &c->types[i], false };
		const bool wanted =
			leave_out ? measured(&t, i).p != NULL : !hes_model_gpu(m, t.g->name);
		struct sibling s;

		t.leave_out = leave_out;
		s = find_sibling(&t, distance);
		if (s.p && wanted)
			out[n++] = derive(&t, &s);
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
