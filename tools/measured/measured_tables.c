/*
 * measured_tables.c - solo.csv, pairs.csv and groups.csv of a measured GPU as
 * observations, and which of them no fit may use; see measured.h.
 *
 * A reading that is not there gives no observation; rows that were not steady,
 * or of sharing that the model does not describe, are counted and left out.
 */
#include "base/texts.h"
#include "measured/measured.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measured/set_reader.h"

#define MAX_GROUP_ROWS 10000
#define SW_POWER_CAP   0x4 /* NVML's throttle reason: the power limit holds the clock */

static const char *const prefixes[2] = { "first_", "second_" };

/* A member of a row: what ran, and how fast. */
struct member {
	struct hes_model_job r;
	char workload[HES_NAME_MAX];
	uint32_t requested_pct;
	double time_s; /* 0: not read */
};

/* The GPU's figures in a row. */
struct reading {
	double power_w, dram; /* 0: not read */
	uint32_t clock_mhz;   /* mean; 0: not read */
	uint32_t locked_mhz;  /* 0: none */
	bool inference, mps, steady, limited;
};

struct group_row {
	uint32_t group, size;
	struct member m;
	struct reading b;
	bool sequential, unshared, usable;
	size_t line;
};

struct reader {
	struct set_reader set;
	const struct hes_gpu_type *type;
	struct hes_measured_gpu *gpu;
	enum hes_style style;
};

static uint32_t hash(uint32_t h, const char *text)
{
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 16777619u;
	return h;
}

/* The observations from @first on are left out together. */
static void set_fold(struct reader *r, size_t first, const char *fmt, ...) HES_PRINTF(3, 4);
static void set_fold(struct reader *r, size_t first, const char *fmt, ...)
{
	char name[3 * HES_NAME_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	for (size_t i = first; i < r->set.out->n; i++)
		r->set.out->v[i].fold = hes_fold(name);
}

/* The upper bit: a product's lowest is that of its factors. */
static bool half(uint32_t h)
{
	return h >> 31;
}

bool hes_held_back_alone(const char *workload, uint32_t share_pct, bool locked_clock)
{
	return locked_clock ? half(hash(2166136261u, workload))
			    : share_pct == 30 || share_pct == 60 || share_pct == 90;
}

bool hes_held_back_pair(const char *one, const char *two)
{
	bool swap = strcmp(one, two) > 0;

	return half(hash(hash(hash(2166136261u, swap ? two : one), "+"), swap ? one : two));
}

/* Text of a column of the table; "" where the column is optional and not there. */
static const char *text(struct reader *r, const char *prefix, const char *column, bool needed)
{
	char name[64];
	int at;

	if (r->set.rc)
		return "";
	snprintf(name, sizeof(name), "%s%s", prefix, column);
	at = needed ? hes_csv_column(r->set.csv, name, r->set.err) : hes_csv_find(r->set.csv, name);
	if (needed && at < 0)
		r->set.rc = at;
	return at < 0 ? "" : hes_csv_text(r->set.csv, at);
}

/* A number; @fallback where the cell is empty, or its column not there and not needed. */
static double number(struct reader *r, const char *prefix, const char *column, bool needed,
		     double min, double max, double fallback)
{
	const char *cell = text(r, prefix, column, needed);
	char name[64];
	double v = fallback;

	if (r->set.rc || !cell[0])
		return fallback;
	snprintf(name, sizeof(name), "%s%s", prefix, column);
	r->set.rc = hes_csv_double(r->set.csv, hes_csv_find(r->set.csv, name), min, max, &v,
				   r->set.err);
	return r->set.rc ? fallback : v;
}

/* A whole number that must be there, not empty. */
static uint32_t whole(struct reader *r, const char *prefix, const char *column, uint32_t min,
		      uint32_t max)
{
	char name[64];
	uint32_t v = min;

	text(r, prefix, column, true);
	if (r->set.rc)
		return min;
	snprintf(name, sizeof(name), "%s%s", prefix, column);
	r->set.rc =
		hes_csv_u32(r->set.csv, hes_csv_find(r->set.csv, name), min, max, &v, r->set.err);
	return v;
}

/* One of the words that a cell may hold; the last of them is NULL. */
static void one_of(struct reader *r, const char *prefix, const char *column, const char *cell,
		   const char *const *words)
{
	char all[128] = "";

	for (const char *const *w = words; !r->set.rc && *w; w++) {
		if (strcmp(cell, *w) == 0)
			return;
		hes_text_add(all, sizeof(all), ", ", "%s", *w);
	}
	if (!r->set.rc)
		r->set.rc = hes_csv_fail(r->set.csv, r->set.err, -EINVAL,
					 "%s%s: \"%.60s\"; it must be one of %s", prefix, column,
					 cell, all);
}

static bool power_limited(struct reader *r)
{
	const char *cell = text(r, "", "throttle", false);
	unsigned long long bits;
	char *end;

	if (r->set.rc || !cell[0])
		return false;
	errno = 0;
	bits = strtoull(cell, &end, 16);
	if (*end || errno || cell[0] == '-')
		r->set.rc = hes_csv_fail(r->set.csv, r->set.err, -EINVAL,
					 "throttle: \"%.60s\" is no hexadecimal number", cell);
	return bits & SW_POWER_CAP;
}

static struct reading reading(struct reader *r, bool may_lock)
{
	static const char *const mechanisms[] = { "mps", "green", "none", NULL };
	const char *mechanism = text(r, "", "mechanism", true);
	struct reading b = { .mps = strcmp(mechanism, "mps") == 0,
			     .inference = strcmp(text(r, "", "kind", true), "inference") == 0 };
	double integral = number(r, "", "power_integral_mw", false, 1, 1e7, 0);

	one_of(r, "", "mechanism", mechanism, mechanisms);
	b.steady = whole(r, "", "steady", 0, 1);
	b.power_w = number(r, "", "power_mw", false, 1, 1e7, integral) / 1e3;
	b.dram = number(r, "", "dram_active", false, 0, 1, 0);
	b.clock_mhz = (uint32_t)number(r, "", "sm_clock_mhz", false, 1, 10000, 0);
	if (may_lock)
		b.locked_mhz = (uint32_t)number(r, "", "locked_clock_mhz", false,
						r->type->clock_min_mhz, r->type->clock_max_mhz, 0);
	b.limited = power_limited(r);
	return b;
}

/* The share that it got counts: a context has whole groups of SMs. */
static uint32_t share_of(const struct reader *r, uint32_t requested_pct, double sms)
{
	double pct = sms > 0 ? round(100 * sms / r->type->sm_count) : requested_pct;

	return (uint32_t)fmin(fmax(pct, 1), 100);
}

static struct member member(struct reader *r, const char *prefix)
{
	static const char *const precisions[] = { "fp16", "fp32", "tf32", NULL };
	const char *workload = text(r, prefix, "workload", true);
	const char *precision = text(r, prefix, "precision", true);
	struct member m = { 0 };
	char name[HES_NAME_MAX];

	if (!r->set.rc && (!workload[0] || strlen(workload) >= sizeof(m.workload)))
		r->set.rc = hes_csv_fail(r->set.csv, r->set.err, -EINVAL,
					 "%sworkload: \"%.60s\"; a name of 1 to %zu characters "
					 "is needed",
					 prefix, workload, sizeof(m.workload) - 1);
	one_of(r, prefix, "precision", precision, precisions);
	m.requested_pct = whole(r, prefix, "sm_share_pct", 1, 100);
	m.r.batch = whole(r, prefix, "batch_size", 1, HES_MODEL_MAX_BATCH);
	m.r.sm_pct = share_of(r, m.requested_pct, number(r, prefix, "sms", false, 1, 1e5, 0));
	m.time_s = number(r, prefix, "iteration_us", true, 1e-3, 1e12, 0) / 1e6;
	if (r->set.rc)
		return m;
	snprintf(m.workload, sizeof(m.workload), "%s", workload);
	hes_inference_name(name, workload, precision, r->style);
	m.r.workload = hes_model_workload(r->set.m, name, NULL);
	return m;
}

/* Whether the model can predict a row; if not, it is counted. */
static bool usable(struct reader *r, const struct reading *b, bool known, bool described)
{
	if (r->set.rc)
		return false;
	r->gpu->unsteady += b->inference && known && !b->steady;
	r->gpu->undescribed += !b->inference || (known && b->steady && !described);
	r->gpu->unknown += b->inference && !known;
	return b->inference && known && b->steady && described;
}

static void read_solo(struct reader *r)
{
	if (!set_reader_open(&r->set, "solo.csv"))
		return;
	while (set_reader_next(&r->set)) {
		struct member m = member(r, "");
		struct reading b = reading(r, true);
		struct hes_setup s = {
			.gpu = *r->type, .clock_mhz = b.locked_mhz, .r = { m.r }, .n = 1
		};
		bool held = hes_held_back_alone(m.workload, m.requested_pct, b.locked_mhz);

		const size_t first = r->set.out->n;

		if (!usable(r, &b, m.r.workload, true))
			continue;
		set_reader_observe(&r->set, HES_SERIES_GPU_TIME, HES_METRIC_TIME_S, &s, m.time_s,
				   held);
		set_reader_observe(&r->set, HES_SERIES_GPU_POWER, HES_METRIC_POWER_W, &s, b.power_w,
				   held);
		set_reader_observe(&r->set, HES_SERIES_GPU_DRAM, HES_METRIC_DRAM_UTIL, &s, b.dram,
				   held);
		if (b.limited)
			set_reader_observe(&r->set, HES_SERIES_GPU_CLOCK, HES_METRIC_CLOCK_GHZ, &s,
					   b.clock_mhz / 1e3, held);
		if (m.requested_pct < 100)
			set_fold(r, first, "%u %%", m.requested_pct);
	}
}

/* The same job with the same share, alone at the clock the GPU chose. */
static const struct hes_observation *alone(const struct reader *r, const struct hes_model_job *job)
{
	for (size_t i = r->set.first; i < r->set.out->n; i++) {
		const struct hes_observation *o = &r->set.out->v[i];

		if (o->series == HES_SERIES_GPU_TIME && o->at.clock_mhz == 0 &&
		    o->at.r[0].workload == job->workload && o->at.r[0].batch == job->batch &&
		    o->at.r[0].sm_pct == job->sm_pct)
			return o;
	}
	return NULL;
}

static void compare(struct reader *r, const struct hes_setup *at, double time_s, bool held)
{
	const struct hes_observation *o = time_s > 0 ? alone(r, &at->r[0]) : NULL;
	struct hes_setup against;

	if (!o)
		return;
	against = o->at; /* a copy: the list of observations may move as it grows */
	set_reader_compare(&r->set, HES_SERIES_GPU_PAIRS, HES_METRIC_TIME_S, at, &against,
			   time_s / o->measured, held || o->held);
}

static void read_pairs(struct reader *r)
{
	if (!set_reader_open(&r->set, "pairs.csv"))
		return;
	while (set_reader_next(&r->set)) {
		struct member m[2] = { member(r, prefixes[0]), member(r, prefixes[1]) };
		struct reading b = reading(r, false);
		bool held = hes_held_back_pair(m[0].workload, m[1].workload);

		/* Without MPS jobs take turns or wait for one another, of which the model knows
		 * nothing. */
		if (!usable(r, &b, m[0].r.workload && m[1].r.workload, b.mps))
			continue;
		const bool swap = strcmp(m[0].workload, m[1].workload) > 0;
		const size_t first = r->set.out->n;

		for (int i = 0; i < 2; i++) {
			struct hes_setup s = { .gpu = *r->type,
					       .r = { m[i].r, m[1 - i].r },
					       .n = 2 };

			compare(r, &s, m[i].time_s, held);
			if (i == 0)
				set_reader_observe(&r->set, HES_SERIES_GPU_PAIR_POWER,
						   HES_METRIC_POWER_W, &s, b.power_w, held);
		}
		set_fold(r, first, "%s+%s", m[swap].workload, m[!swap].workload);
	}
}

/* Jobs of a form of sharing: the digit that it ends in. */
static struct group_row group_row(struct reader *r)
{
	static const char *const forms[] = {
		"equal3",      "equal4", "unpartitioned2", "unpartitioned3", "unpartitioned4",
		"sequential2", NULL
	};
	const char *form = text(r, "", "form", true);
	struct group_row g = { .group = whole(r, "", "group", 0, UINT32_MAX) };

	one_of(r, "", "form", form, forms);
	g.m = member(r, "");
	g.b = reading(r, false);
	if (r->set.rc)
		return g;
	g.size = (uint32_t)(form[strlen(form) - 1] - '0');
	g.sequential = strcmp(form, "sequential2") == 0;
	g.unshared = strncmp(form, "unpartitioned", strlen("unpartitioned")) == 0;
	g.usable = usable(r, &g.b, g.m.r.workload, !g.sequential && g.b.mps);
	g.line = hes_csv_line(r->set.csv);
	return g;
}

/* The members of the group that begins at row @at, each in turn as the subject. */
static void observe_group(struct reader *r, const struct group_row *rows, size_t n, size_t at)
{
	const struct group_row *g[HES_MODEL_MAX_JOBS];
	struct hes_setup s = { .gpu = *r->type };
	bool whole_group = true;

	for (size_t i = at; i < n; i++) {
		if (rows[i].group != rows[at].group)
			continue;
		if (s.n == rows[at].size || rows[i].size != rows[at].size) {
			r->set.rc = hes_fail(
				r->set.err, -EINVAL, "%s/groups.csv:%zu: group %u has %u members",
				r->set.dir, rows[i].line, rows[at].group, rows[at].size);
			return;
		}
		whole_group = whole_group && rows[i].usable;
		g[s.n++] = &rows[i];
	}
	if (s.n < rows[at].size)
		r->set.rc =
			hes_fail(r->set.err, -EINVAL,
				 "%s/groups.csv:%zu: group %u needs %u members and has %zu rows",
				 r->set.dir, rows[at].line, rows[at].group, rows[at].size, s.n);
	for (size_t i = 0; !r->set.rc && whole_group && i < s.n; i++) {
		for (size_t k = 0; k < s.n; k++)
			s.r[k] = g[(i + k) % s.n]->m.r;
		set_reader_observe(&r->set,
				   rows[at].unshared ? HES_SERIES_GPU_UNSHARED
						     : HES_SERIES_GPU_GROUPS,
				   HES_METRIC_TIME_S, &s, g[i]->m.time_s, true);
		if (i == 0)
			set_reader_observe(&r->set, HES_SERIES_GPU_GROUP_POWER, HES_METRIC_POWER_W,
					   &s, g[i]->b.power_w, true);
	}
}

static bool first_of_group(const struct group_row *rows, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (rows[k].group == rows[i].group)
			return false;
	return true;
}

static void read_groups(struct reader *r)
{
	struct group_row *rows = NULL;
	size_t n = 0;

	if (!set_reader_open(&r->set, "groups.csv"))
		return;
	while (set_reader_next(&r->set)) {
		struct group_row row = group_row(r);

		if (n == 0)
			rows = malloc(MAX_GROUP_ROWS * sizeof(*rows));
		if (!r->set.rc && !rows)
			r->set.rc = hes_fail(r->set.err, -ENOMEM, "out of memory");
		if (!r->set.rc && n == MAX_GROUP_ROWS)
			r->set.rc = hes_csv_fail(r->set.csv, r->set.err, -E2BIG,
						 "more than %d rows", MAX_GROUP_ROWS);
		if (!r->set.rc)
			rows[n++] = row;
	}
	for (size_t i = 0; !r->set.rc && i < n; i++)
		if (first_of_group(rows, i))
			observe_group(r, rows, n, i);
	free(rows);
}

/* Programs of bench/gpu/run are eager. What an attempt took beyond its plan, which has no start. */
static void read_starts(struct reader *r)
{
	const struct hes_setup s = { .gpu = *r->type };

	if (!set_reader_open(&r->set, "run/attempts.csv"))
		return;
	while (set_reader_next(&r->set)) {
		const double start_s = number(r, "", "over_plan_s", true, 1e-3, 1e6, 0);

		set_reader_observe(&r->set, HES_SERIES_GPU_START, HES_METRIC_START_S, &s, start_s,
				   false);
	}
}

int hes_observe_tables(const struct hes_model *m, const char *dir, const struct hes_gpu_type *gpu,
		       enum hes_style style, struct hes_observations *out, struct hes_err *err)
{
	struct reader r = {
		.set = { .m = m,
			 .dir = dir,
			 .out = out,
			 .first = out->n,
			 .gpu = out->n_gpus,
			 .err = err },
		.type = gpu,
		.gpu = &out->gpus[out->n_gpus - 1],
		.style = style,
	};

	read_solo(&r);
	read_pairs(&r);
	read_groups(&r);
	read_starts(&r);
	hes_csv_close(r.set.csv);
	if (!r.set.rc && out->n == r.set.first &&
	    r.gpu->unknown + r.gpu->unsteady + r.gpu->undescribed == 0)
		r.set.rc = hes_fail(err, -ENOENT,
				    "%s: no rows in solo.csv, pairs.csv or groups.csv", dir);
	return r.set.rc;
}
