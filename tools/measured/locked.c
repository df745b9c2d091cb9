/*
 * locked.c - published kernels at locked clocks: power against the clock; see locked.h.
 *
 * A kernel is no workload of physics.yaml. What it does is known from its row at the highest clock
 * that was held, as a profile would: its time, its use of DRAM and its power there. The model then
 * has to predict the power at every other clock from the parameters of the GPU type alone.
 */
#include "measured/locked.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/texts.h"
#include "model/params.h"

#define NO_LIMIT_MW 2000000 /* clocks that were held: no power limit acts */
#define MOST_MEMORY 0.98    /* part of the time */
#define HELD        0.97    /* of the limit; a clock whose power is nearer was not held */

struct row {
	char kernel[2 * HES_NAME_MAX]; /* with its settings */
	char fold[HES_NAME_MAX];       /* kernels that are left out together */
	double mhz, time_s, power_w;
	double dram; /* active; NAN: not measured */
};

struct table {
	const char *file, *type;
	enum hes_series_id series;
	const char *gpu; /* rows with this in the column "gpu" */
	double limit_w, least_mhz;
	/* Columns; program and setting together name the kernel, folds are by the first of them. */
	const char *fold, *setting[2], *time, *power, *dram;
	double time_unit_s;
	const char *cap; /* rows of the full power limit alone; NULL: there is none */
};

#define NV_DVFS(file, type, series, gpu, limit, least)                                           \
	{                                                                                        \
		"nv_dvfs/" file, type, series, gpu, limit, least, "program",                     \
			{ "setting", "kernel" }, "time_ms", "power_w", "dram_active", 1e-3, NULL \
	}
#define PERSEUS(type, series, gpu, limit)                                             \
	{                                                                             \
		"perseus_clock/stage_clock.csv", type, series, gpu, limit, 0, "pass", \
			{ "model", "stages" }, "time_s", "power_w", NULL, 1, NULL     \
	}

static const struct table tables[] = {
	/* Below 600 MHz this V100 did not hold its clock: times rise faster than 1 / f. */
	NV_DVFS("real.csv", "V100-PCIe", HES_SERIES_LOCKED_V100, "V100-PCIe", 250, 600),
	NV_DVFS("microbenchmark.csv", "V100-PCIe", HES_SERIES_LOCKED_V100, "V100-PCIe", 250, 600),
	NV_DVFS("real.csv", "Quadro-RTX-8000", HES_SERIES_LOCKED_RTX_8000, "RTX8000", 260, 0),
	NV_DVFS("microbenchmark.csv", "Quadro-RTX-8000", HES_SERIES_LOCKED_RTX_8000, "RTX8000", 260,
		0),
	/* From about 1450 MHz up its limit of 300 W holds the clock, at less on the meter. */
	PERSEUS("A40", HES_SERIES_LOCKED_A40, "A40", 280),
	/* One of its programs draws 471 W: this GPU's limit is above the usual 400 W. */
	PERSEUS("A100-SXM-80", HES_SERIES_LOCKED_A100_SXM, "A100-SXM", 1000),
	{ "kernel_tuner_a100/clock.csv",
	  "A100-PCIe-40",
	  HES_SERIES_LOCKED_A100_40,
	  "A100-PCIe-40",
	  250,
	  0,
	  "kernel",
	  { NULL },
	  "time_ms",
	  "power_w",
	  NULL,
	  1e-3,
	  NULL },
	{ "a100_freq_powercap/energy_time.csv",
	  "A100-PCIe-80",
	  HES_SERIES_LOCKED_A100_80,
	  "cricket-a100",
	  300,
	  0,
	  "benchmark",
	  { NULL },
	  "time_s",
	  "avg_power_w",
	  NULL,
	  1,
	  "power_cap_w" },
};

/* What all kernels are until their row says more. */
static const struct hes_workload plain = { .name = "a kernel",
					   .math = HES_MATH_FP32,
					   .efficiency = 1,
					   .parallel_sms = 1e6,
					   .activity = 1 };

static double locked_number(struct set_reader *r, const char *column)
{
	double v = NAN;
	int at = r->rc || !column ? -1 : hes_csv_column(r->csv, column, r->err);

	if (at < 0) {
		if (!r->rc && column)
			r->rc = at;
		return NAN;
	}
	if (hes_csv_text(r->csv, at)[0])
		r->rc = hes_csv_double(r->csv, at, 0, 4e9, &v, r->err);
	return v;
}

static const char *locked_text(struct set_reader *r, const char *column)
{
	int at = r->rc ? -1 : hes_csv_column(r->csv, column, r->err);

	if (!r->rc && at < 0)
		r->rc = at;
	return at < 0 ? "" : hes_csv_text(r->csv, at);
}

/* @return whether the row counts */
static bool read_row(struct set_reader *r, const struct table *t, struct row *out)
{
	if (strcmp(locked_text(r, "gpu"), t->gpu))
		return false;
	*out = (struct row){ .mhz = locked_number(r, "sm_mhz"),
			     .time_s = t->time_unit_s * locked_number(r, t->time),
			     .power_w = locked_number(r, t->power),
			     .dram = locked_number(r, t->dram) };
	snprintf(out->fold, sizeof(out->fold), "%s", locked_text(r, t->fold));
	snprintf(out->kernel, sizeof(out->kernel), "%s", out->fold);
	for (int i = 0; i < 2 && t->setting[i]; i++)
		hes_text_add(out->kernel, sizeof(out->kernel), " ", "%s",
			     locked_text(r, t->setting[i]));
	return !r->rc && out->mhz >= t->least_mhz && out->time_s > 0 && out->power_w > 0 &&
	       out->power_w < HELD * t->limit_w &&
	       (!t->cap || locked_number(r, t->cap) >= t->limit_w);
}

/* The rows of the kernel of @v[0], of which all others come right after it or later. */
static void observe_kernel(struct set_reader *r, const struct table *t, const struct row *v,
			   size_t n)
{
	const struct hes_gpu_type *g = hes_gpu_type_find(r->c, t->type, r->err);
	const struct row *top = v, *low = v;
	struct hes_locked at;
	char fold[2 * HES_NAME_MAX];

	snprintf(fold, sizeof(fold), "%s %s", t->type, v->fold);
	for (size_t i = 1; i < n; i++) {
		if (strcmp(v[i].kernel, v->kernel))
			continue;
		top = v[i].mhz > top->mhz ? &v[i] : top;
		low = v[i].mhz < low->mhz ? &v[i] : low;
	}
	at = (struct hes_locked){
		.mhz = top->mhz, .time_s = top->time_s, .power_w = top->power_w, .dram = top->dram
	};
	/* Where DRAM was not measured, the time that does not fall with the clock is memory's. */
	if (isnan(top->dram) && low != top)
		at.memory =
			fmax(0, 1 - (low->time_s / top->time_s - 1) / (top->mhz / low->mhz - 1));
	for (size_t i = 0; g && i < n; i++) {
		struct hes_setup s = { .gpu = *g,
				       .power_limit_mw = NO_LIMIT_MW,
				       .clock_mhz = (uint32_t)lround(v[i].mhz),
				       .n = 1,
				       .r = { { &plain, 1, 100 } } };

		if (strcmp(v[i].kernel, v->kernel) || &v[i] == top)
			continue;
		if (!set_reader_observe(r, t->series, HES_METRIC_POWER_W, &s, v[i].power_w, false))
			continue;
		r->out->v[r->out->n - 1].locked = at;
		r->out->v[r->out->n - 1].fold = hes_fold(fold);
	}
	if (!g && !r->rc)
		r->rc = -ENOENT;
}

static bool is_first(const struct row *v, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(v[k].kernel, v[i].kernel) == 0)
			return false;
	return true;
}

void locked_read(struct set_reader *r)
{
	for (size_t k = 0; k < sizeof(tables) / sizeof(tables[0]); k++) {
		struct row *v = NULL, row;
		size_t n = 0;

		if (!set_reader_open(r, tables[k].file))
			continue;
		while (set_reader_next(r)) {
			struct row *grown;

			if (!read_row(r, &tables[k], &row))
				continue;
			grown = n & (n - 1) ? v : realloc(v, (n ? 2 * n : 1) * sizeof(*v));
			if (!grown) {
				r->rc = hes_fail(r->err, -ENOMEM, "out of memory");
				continue;
			}
			v = grown;
			v[n++] = row;
		}
		for (size_t i = 0; !r->rc && i < n; i++)
			if (is_first(v, i))
				observe_kernel(r, &tables[k], v + i, n - i);
		free(v);
	}
}

static int power_of(const struct hes_model *m, const struct hes_setup *s, double *out,
		    struct hes_err *err)
{
	struct hes_steady now;
	struct hes_rate rate;
	int rc = hes_model_steady(m, &s->gpu, s->clock_mhz, s->power_limit_mw, s->r, s->n, &rate,
				  &now, err);

	if (!rc)
		*out = now.power_w;
	return rc;
}

int locked_power(const struct hes_model *m, const struct hes_observation *o, double *out,
		 struct hes_err *err)
{
	const struct hes_gpu_physics *p = hes_model_gpu(m, o->at.gpu.name);
	const struct hes_locked *l = &o->locked;
	struct hes_workload w = plain;
	struct hes_setup s = o->at;
	double gbs, memory, still = 0, busy = 0;
	int rc;

	if (!p)
		return hes_fail(err, -ENOENT, "the model has no parameters for GPU type \"%s\"",
				o->at.gpu.name);
	gbs = s.gpu.memory_bandwidth_gbs * p->bandwidth_fraction;
	memory = fmin(isnan(l->dram) ? l->memory : l->dram / p->bandwidth_fraction, MOST_MEMORY);
	w.traffic_mib = memory * l->time_s * gbs * HES_MIB_PER_GB;
	w.gflop_per_item = (1 - memory) * l->time_s * l->mhz * 1e-3 * s.gpu.sm_count *
			   hes_model_rate(m, p, &w);
	s.r[0].workload = &w;
	s.clock_mhz = (uint32_t)lround(l->mhz);
	rc = power_of(m, &s, &busy, err);
	w.activity = 0;
	if (!rc)
		rc = power_of(m, &s, &still, err);
	/* Power is linear in the activity. */
	w.activity = fmax(0, (l->power_w - still) / fmax(busy - still, 1e-9));
	s.clock_mhz = o->at.clock_mhz;
	return rc ? rc : power_of(m, &s, out, err);
}
