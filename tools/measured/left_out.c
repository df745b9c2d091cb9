/*
 * left_out.c - predictions for a network without data of it; see left_out.h.
 */
#include "measured/left_out.h"

#include <math.h>
#include <string.h>

#include "measured/check.h"
#include "model/params.h"

static const struct hes_left_out rows[] = {
	{ HES_SERIES_IGNITER_HELD, HES_SERIES_IGNITER_PAIRS, false },
	{ HES_SERIES_IGNITER_CONSTANT, HES_SERIES_IGNITER_PAIRS, true },
	{ HES_SERIES_IGNITER_LINE, HES_SERIES_IGNITER_PAIRS, true },
	{ HES_SERIES_PARVA_HELD, HES_SERIES_PARVA_SHARED, false },
	{ HES_SERIES_PARVA_SIBLING, HES_SERIES_PARVA_SHARED, true },
	{ HES_SERIES_PARVA_NEW_SIBLING, HES_SERIES_PARVA_NEW_SHARED, true },
	{ HES_SERIES_TALLY_SLICES, HES_SERIES_TALLY_PAIRS, true },
	{ HES_SERIES_ZEUS_LOW_DERIVED, HES_SERIES_ZEUS_LOW_A40, false },
	{ HES_SERIES_GPU_LEFT_OUT_TIME, HES_SERIES_GPU_TIME, false },
	{ HES_SERIES_GPU_LEFT_OUT_POWER, HES_SERIES_GPU_POWER, false },
	{ HES_SERIES_GPU_LEFT_OUT_PAIRS, HES_SERIES_GPU_PAIRS, false },
	{ HES_SERIES_GPU_LEFT_OUT_PAIR_POWER, HES_SERIES_GPU_PAIR_POWER, false },
	{ HES_SERIES_GPU_CONSTANT, HES_SERIES_GPU_PAIRS, true },
	{ HES_SERIES_LEFT_OUT_V100, HES_SERIES_LOCKED_V100, false },
	{ HES_SERIES_LEFT_OUT_RTX_8000, HES_SERIES_LOCKED_RTX_8000, false },
	{ HES_SERIES_LEFT_OUT_A40, HES_SERIES_LOCKED_A40, false },
	{ HES_SERIES_LEFT_OUT_A100_40, HES_SERIES_LOCKED_A100_40, false },
	{ HES_SERIES_LEFT_OUT_A100_80, HES_SERIES_LOCKED_A100_80, false },
	{ HES_SERIES_LEFT_OUT_A100_SXM, HES_SERIES_LOCKED_A100_SXM, false },
};

const struct hes_left_out *hes_left_out_find(enum hes_series_id series)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].series == series)
			return &rows[i];
	return NULL;
}

/*
 * Networks of ParvaGPU's set with a measured sibling. Traffic: bytes that the operations of an
 * eager forward pass read and write for an image, MiB, counted from the published architectures.
 */
static const struct relative {
	const char *name, *sibling;
	double traffic, sibling_traffic;
} relatives[] = {
	{ "resnet50", "resnet152", 308, 657 },
	{ "resnet101", "resnet152", 464, 657 },
	{ "resnet152", "resnet50", 657, 308 },
	{ "densenet121", "densenet201", 410, 650 },
	{ "densenet169", "densenet121", 499, 410 },
	{ "densenet201", "densenet121", 650, 410 },
	{ "vgg16", "vgg19", 219, 239 },
	{ "vgg19", "vgg16", 239, 219 },
};

static const struct relative *relative_of(const char *name)
{
	for (size_t i = 0; i < sizeof(relatives) / sizeof(relatives[0]); i++)
		if (strcmp(relatives[i].name, name) == 0)
			return &relatives[i];
	return NULL;
}

/* What is published about @w, and the rest from its sibling. */
static struct hes_workload derived(const struct hes_workload *w, const struct hes_workload *s,
				   const struct relative *r)
{
	struct hes_workload d = *w;

	d.efficiency = s->efficiency;
	d.host_us = s->host_us * w->kernels / s->kernels;
	d.serial_us = s->serial_us * w->kernels / s->kernels;
	d.serial_us_per_item = s->serial_us_per_item;
	d.parallel_sms = s->parallel_sms;
	d.parallel_growth = s->parallel_growth;
	d.traffic_mib_per_item = s->traffic_mib_per_item * r->traffic / r->sibling_traffic;
	return d;
}

static bool same_sharing(const struct hes_setup *a, const struct hes_setup *b)
{
	return a->n == b->n && a->gpu.sm_count == b->gpu.sm_count && a->r[0].batch == b->r[0].batch;
}

/* Model and rule on the same rows: those that were measured of the sibling too. */
static int shared(const struct hes_model *m, const struct hes_observations *o, bool rule,
		  const struct hes_observation *v, double *out, struct hes_err *err)
{
	const struct hes_workload *w = v->at.r[0].workload, *s = NULL;
	const struct relative *r = relative_of(w->name);
	struct hes_observation mine = *v;
	struct hes_workload d;
	double measured = 0;

	*out = NAN;
	if (r)
		s = hes_model_workload(m, r->sibling, NULL);
	for (size_t i = 0; s && i < o->n; i++)
		if (o->v[i].series == HES_SERIES_PARVA_SHARED && o->v[i].at.r[0].workload == s &&
		    same_sharing(&o->v[i].at, &v->at))
			measured = o->v[i].measured;
	if (measured == 0)
		return 0;
	*out = measured * s->gflop_per_item / w->gflop_per_item;
	if (rule)
		return 0;
	d = derived(w, s, r);
	for (size_t i = 0; i < mine.at.n; i++)
		mine.at.r[i].workload = &d;
	return hes_reproduce(m, &mine, out, err);
}

static int pair(const struct hes_model *m, const struct hes_observation *v, double *out,
		struct hes_err *err)
{
	struct hes_model without = *m;

	*out = NAN;
	for (size_t i = 0; i < m->n_held_out; i++) {
		if (strcmp(m->held_out[i].workload, v->at.r[0].workload->name))
			continue;
		without.nature = m->held_out[i].nature;
		return hes_reproduce(&without, v, out, err);
	}
	return 0;
}

/* Solve a[3][3] x = a[.][3] by elimination; an unknown that nothing determines is 0. */
static void solve3(double a[3][4], double x[3])
{
	for (int k = 0; k < 3; k++)
		for (int i = 0; i < 3; i++) {
			double f = i == k || fabs(a[k][k]) < 1e-12 ? 0 : a[i][k] / a[k][k];

			for (int j = k; j < 4; j++)
				a[i][j] -= f * a[k][j];
		}
	for (int k = 0; k < 3; k++)
		x[k] = fabs(a[k][k]) < 1e-12 ? 0 : a[k][3] / a[k][k];
}

/* Least squares of the slowdowns of pairs without @v's network on 1, or on 1 and the co-runner's L2
 * and DRAM use. */
static double line(const struct hes_observations *o, const struct hes_observation *v, bool constant)
{
	double a[3][4] = { 0 }, x[3];

	for (size_t i = 0; i < o->n; i++) {
		const struct hes_observation *p = &o->v[i];
		const double row[4] = { 1, constant ? 0 : p->co_l2, constant ? 0 : p->co_dram,
					p->measured };

		for (int j = 0; p->series == v->series &&
				!hes_has_workload(p, v->at.r[0].workload->name) && j < 3;
		     j++)
			for (int k = 0; k < 4; k++)
				a[j][k] += row[j] * row[k];
	}
	solve3(a, x);
	return a[0][0] == 0 ? NAN : x[0] + x[1] * v->co_l2 + x[2] * v->co_dram;
}

/* The mean slowdown of the GPU's other pairs. */
static double mean_of_others(const struct hes_observations *o, const struct hes_observation *v)
{
	double sum = 0, n = 0;

	for (size_t i = 0; i < o->n; i++)
		if (o->v[i].series == v->series && o->v[i].gpu == v->gpu &&
		    o->v[i].fold != v->fold) {
			sum += o->v[i].measured;
			n++;
		}
	return n > 0 ? sum / n : NAN;
}

int hes_left_out(const struct hes_model *m, const struct hes_observations *o,
		 enum hes_series_id series, const struct hes_observation *v, double *out,
		 struct hes_err *err)
{
	struct hes_observation derived_type = *v;
	struct hes_model slices = *m;

	switch (series) {
	case HES_SERIES_IGNITER_CONSTANT:
	case HES_SERIES_IGNITER_LINE:
		*out = line(o, v, series == HES_SERIES_IGNITER_CONSTANT);
		return 0;
	case HES_SERIES_ZEUS_LOW_DERIVED:
		derived_type.series = HES_SERIES_TYPES;
		return hes_reproduce(m, &derived_type, out, err);
	case HES_SERIES_TALLY_SLICES:
		slices.nature.crowding = 0;
		return hes_reproduce(&slices, v, out, err);
	case HES_SERIES_GPU_CONSTANT:
		*out = mean_of_others(o, v);
		return 0;
	case HES_SERIES_IGNITER_HELD:
		return pair(m, v, out, err);
	case HES_SERIES_PARVA_HELD:
	case HES_SERIES_PARVA_SIBLING:
	case HES_SERIES_PARVA_NEW_SIBLING:
		return shared(m, o, series != HES_SERIES_PARVA_HELD, v, out, err);
	default: /* the calibrator has fitted without it, if it could */
		*out = v->left_out > 0 ? v->left_out : NAN;
		return 0;
	}
}
