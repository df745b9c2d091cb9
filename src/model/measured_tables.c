/*
 * measured_tables.c - solo.csv, pairs.csv and groups.csv of a measured board as
 * observations, and which of them no fit may use; see measured.h.
 *
 * A reading that is not there gives no observation; rows that were not steady,
 * or of sharing that the model does not describe, are counted and left out.
 */
#include "model/measured.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"

#define MAX_GROUP_ROWS 10000
#define SW_POWER_CAP   0x4 /* NVML's throttle reason: the power limit holds the clock */

static const char *const prefixes[2] = { "first_", "second_" };

/* A member of a row: what ran, and how fast. */
struct member {
	struct hes_resident r;
	char     workload[HES_NAME_MAX];
	uint32_t asked_pct;
	double   time_s;            /* 0: not read */
};

/* What a row says of the board. */
struct reading {
	double   power_w, dram;     /* 0: not read */
	uint32_t clock_mhz;         /* mean; 0: not read */
	uint32_t locked_mhz;        /* 0: none */
	bool     inference, mps, steady, limited;
};

struct group_row {
	uint32_t       group, size;
	struct member  m;
	struct reading b;
	bool           sequential, usable;
	size_t         line;
};

struct reader {
	const struct hes_model    *m;
	const char                *dir;
	const struct hes_gpu_type *gpu;
	struct hes_observations   *out;
	struct hes_measured_board *board;
	size_t                     first;  /* observation of this board */
	struct hes_csv            *csv;
	struct hes_err            *err;
	int                        rc;     /* first failure; later calls do nothing */
};

static uint32_t hash(uint32_t h, const char *text)
{
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 16777619u;
	return h;
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

	if (r->rc)
		return "";
	snprintf(name, sizeof(name), "%s%s", prefix, column);
	at = needed ? hes_csv_column(r->csv, name, r->err) : hes_csv_find(r->csv, name);
	if (needed && at < 0)
		r->rc = at;
	return at < 0 ? "" : hes_csv_text(r->csv, at);
}

/* A number; @fallback where the cell is empty, or its column not there and not needed. */
static double number(struct reader *r, const char *prefix, const char *column, bool needed, double min,
		     double max, double fallback)
{
	const char *cell = text(r, prefix, column, needed);
	char name[64];
	double v = fallback;

	if (r->rc || !cell[0])
		return fallback;
	snprintf(name, sizeof(name), "%s%s", prefix, column);
	r->rc = hes_csv_double(r->csv, hes_csv_find(r->csv, name), min, max, &v, r->err);
	return r->rc ? fallback : v;
}

/* A whole number that must be there, not empty. */
static uint32_t whole(struct reader *r, const char *prefix, const char *column, uint32_t min, uint32_t max)
{
	char name[64];
	uint32_t v = min;

	text(r, prefix, column, true);
	if (r->rc)
		return min;
	snprintf(name, sizeof(name), "%s%s", prefix, column);
	r->rc = hes_csv_u32(r->csv, hes_csv_find(r->csv, name), min, max, &v, r->err);
	return v;
}

/* One of the words that a cell may hold; the last of them is NULL. */
static void one_of(struct reader *r, const char *prefix, const char *column, const char *cell,
		   const char *const *words)
{
	char all[128] = "";
	size_t at = 0;

	for (const char *const *w = words; !r->rc && *w; w++) {
		if (strcmp(cell, *w) == 0)
			return;
		at += (size_t)snprintf(all + at, sizeof(all) - at, "%s%s", at ? ", " : "", *w);
	}
	if (!r->rc)
		r->rc = hes_csv_fail(r->csv, r->err, -EINVAL, "%s%s: \"%.60s\"; it must be one of %s", prefix,
				     column, cell, all);
}

static bool power_limited(struct reader *r)
{
	const char *cell = text(r, "", "throttle", false);
	unsigned long long bits;
	char *end;

	if (r->rc || !cell[0])
		return false;
	errno = 0;
	bits = strtoull(cell, &end, 16);
	if (*end || errno || cell[0] == '-')
		r->rc = hes_csv_fail(r->csv, r->err, -EINVAL, "throttle: \"%.60s\" is no hexadecimal number", cell);
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
		b.locked_mhz = (uint32_t)number(r, "", "locked_clock_mhz", false, r->gpu->clock_min_mhz,
						r->gpu->clock_max_mhz, 0);
	b.limited = power_limited(r);
	return b;
}

/* The share that it got counts: a context has whole groups of SMs. */
static uint32_t share_of(const struct reader *r, uint32_t asked_pct, double sms)
{
	double pct = sms > 0 ? round(100 * sms / r->gpu->sm_count) : asked_pct;

	return (uint32_t)fmin(fmax(pct, 1), 100);
}

static struct member member(struct reader *r, const char *prefix)
{
	static const char *const precisions[] = { "fp16", "fp32", "tf32", NULL };
	const char *workload = text(r, prefix, "workload", true);
	const char *precision = text(r, prefix, "precision", true);
	struct member m = { 0 };
	char name[HES_NAME_MAX];

	if (!r->rc && (!workload[0] || strlen(workload) >= sizeof(m.workload)))
		r->rc = hes_csv_fail(r->csv, r->err, -EINVAL, "%sworkload: \"%.60s\"; a name of 1 to %zu characters "
				     "is needed", prefix, workload, sizeof(m.workload) - 1);
	one_of(r, prefix, "precision", precision, precisions);
	m.asked_pct = whole(r, prefix, "sm_share_pct", 1, 100);
	m.r.batch = whole(r, prefix, "batch_size", 1, HES_MODEL_MAX_BATCH);
	m.r.sm_pct = share_of(r, m.asked_pct, number(r, prefix, "sms", false, 1, 1e5, 0));
	m.time_s = number(r, prefix, "iteration_us", true, 1e-3, 1e12, 0) / 1e6;
	if (r->rc)
		return m;
	snprintf(m.workload, sizeof(m.workload), "%s", workload);
	hes_inference_name(name, workload, precision);
	m.r.workload = hes_model_workload(r->m, name, NULL);
	return m;
}

/* Whether the model can be asked for a row, else it is counted. */
static bool usable(struct reader *r, const struct reading *b, bool known, bool described)
{
	if (r->rc)
		return false;
	r->board->unsteady += b->inference && known && !b->steady;
	r->board->undescribed += !b->inference || (known && b->steady && !described);
	r->board->unknown += b->inference && !known;
	return b->inference && known && b->steady && described;
}

static void observe(struct reader *r, enum hes_series_id series, enum hes_metric metric, const struct hes_setup *at,
		    double measured, bool held)
{
	struct hes_observation v = { .series = series, .metric = metric, .at = *at, .measured = measured,
				     .line = r->csv ? hes_csv_line(r->csv) : 0,
				     .board = (size_t)(r->board - r->out->boards) + 1, .held = held };

	if (!r->rc && measured > 0)
		r->rc = hes_observations_add(r->out, &v, r->err);
}

/* Open a table. @return whether it is there and readable */
static bool open_table(struct reader *r, const char *file)
{
	char path[PATH_MAX + 16];

	if (r->rc)
		return false;
	snprintf(path, sizeof(path), "%s/%s", r->dir, file);
	r->rc = hes_csv_open(path, &r->csv, r->err);
	if (r->rc != -ENOENT)
		return r->rc == 0;
	r->rc = 0;
	return false;
}

static bool next_row(struct reader *r)
{
	int got = r->rc ? 0 : hes_csv_next(r->csv, r->err);

	if (got < 0)
		r->rc = got;
	if (got <= 0) {
		hes_csv_close(r->csv);
		r->csv = NULL;
	}
	return got > 0;
}

static void read_solo(struct reader *r)
{
	if (!open_table(r, "solo.csv"))
		return;
	while (next_row(r)) {
		struct member m = member(r, "");
		struct reading b = reading(r, true);
		struct hes_setup s = { .gpu = *r->gpu, .clock_mhz = b.locked_mhz, .r = { m.r }, .n = 1 };
		bool held = hes_held_back_alone(m.workload, m.asked_pct, b.locked_mhz);

		if (!usable(r, &b, m.r.workload, true))
			continue;
		observe(r, HES_SERIES_BOARD_TIME, HES_METRIC_TIME_S, &s, m.time_s, held);
		observe(r, HES_SERIES_BOARD_POWER, HES_METRIC_POWER_W, &s, b.power_w, held);
		observe(r, HES_SERIES_BOARD_DRAM, HES_METRIC_DRAM_UTIL, &s, b.dram, held);
		if (b.limited)
			observe(r, HES_SERIES_BOARD_CLOCK, HES_METRIC_CLOCK_GHZ, &s, b.clock_mhz / 1e3, held);
	}
}

/* The same job with the same share, alone at the clock the board chose. */
static const struct hes_observation *alone(const struct reader *r, const struct hes_resident *job)
{
	for (size_t i = r->first; i < r->out->n; i++) {
		const struct hes_observation *o = &r->out->v[i];

		if (o->series == HES_SERIES_BOARD_TIME && o->at.clock_mhz == 0 && o->at.r[0].workload == job->workload &&
		    o->at.r[0].batch == job->batch && o->at.r[0].sm_pct == job->sm_pct)
			return o;
	}
	return NULL;
}

static void compare(struct reader *r, const struct hes_setup *at, double time_s, bool held)
{
	const struct hes_observation *o = time_s > 0 ? alone(r, &at->r[0]) : NULL;
	struct hes_observation v = { .series = HES_SERIES_BOARD_PAIRS, .metric = HES_METRIC_TIME_S, .at = *at,
				     .relative = true, .line = hes_csv_line(r->csv),
				     .board = (size_t)(r->board - r->out->boards) + 1, .held = held };

	if (!o || r->rc)
		return;
	v.against = o->at;
	v.measured = time_s / o->measured;
	r->rc = hes_observations_add(r->out, &v, r->err);
}

static void read_pairs(struct reader *r)
{
	if (!open_table(r, "pairs.csv"))
		return;
	while (next_row(r)) {
		struct member m[2] = { member(r, prefixes[0]), member(r, prefixes[1]) };
		struct reading b = reading(r, false);
		bool held = hes_held_back_pair(m[0].workload, m[1].workload);

		/* Without MPS jobs take turns or wait for one another, of which the model knows nothing. */
		if (!usable(r, &b, m[0].r.workload && m[1].r.workload, b.mps))
			continue;
		for (int i = 0; i < 2; i++) {
			struct hes_setup s = { .gpu = *r->gpu, .r = { m[i].r, m[1 - i].r }, .n = 2 };

			compare(r, &s, m[i].time_s, held);
			if (i == 0)
				observe(r, HES_SERIES_BOARD_PAIR_POWER, HES_METRIC_POWER_W, &s, b.power_w, held);
		}
	}
}

/* Jobs of a form of sharing: the digit that it ends in. */
static struct group_row group_row(struct reader *r)
{
	static const char *const forms[] = { "equal3", "equal4", "unpartitioned2", "unpartitioned3",
					     "unpartitioned4", "sequential2", NULL };
	const char *form = text(r, "", "form", true);
	struct group_row g = { .group = whole(r, "", "group", 0, UINT32_MAX) };

	one_of(r, "", "form", form, forms);
	g.m = member(r, "");
	g.b = reading(r, false);
	if (r->rc)
		return g;
	g.size = (uint32_t)(form[strlen(form) - 1] - '0');
	g.sequential = strcmp(form, "sequential2") == 0;
	g.usable = usable(r, &g.b, g.m.r.workload, !g.sequential && g.b.mps);
	g.line = hes_csv_line(r->csv);
	return g;
}

/* The members of the group that begins at row @at, each in turn as the subject. */
static void observe_group(struct reader *r, const struct group_row *rows, size_t n, size_t at)
{
	const struct group_row *g[HES_MODEL_MAX_RESIDENTS];
	struct hes_setup s = { .gpu = *r->gpu };
	bool whole_group = true;

	for (size_t i = at; i < n; i++) {
		if (rows[i].group != rows[at].group)
			continue;
		if (s.n == rows[at].size || rows[i].size != rows[at].size) {
			r->rc = hes_fail(r->err, -EINVAL, "%s/groups.csv:%zu: group %u has %u members", r->dir,
					 rows[i].line, rows[at].group, rows[at].size);
			return;
		}
		whole_group = whole_group && rows[i].usable;
		g[s.n++] = &rows[i];
	}
	if (s.n < rows[at].size)
		r->rc = hes_fail(r->err, -EINVAL, "%s/groups.csv:%zu: group %u needs %u members and has %zu rows",
				 r->dir, rows[at].line, rows[at].group, rows[at].size, s.n);
	for (size_t i = 0; !r->rc && whole_group && i < s.n; i++) {
		for (size_t k = 0; k < s.n; k++)
			s.r[k] = g[(i + k) % s.n]->m.r;
		observe(r, HES_SERIES_BOARD_GROUPS, HES_METRIC_TIME_S, &s, g[i]->m.time_s, true);
		if (i == 0)
			observe(r, HES_SERIES_BOARD_GROUP_POWER, HES_METRIC_POWER_W, &s, g[i]->b.power_w, true);
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

	if (!open_table(r, "groups.csv"))
		return;
	while (next_row(r)) {
		struct group_row row = group_row(r);

		if (n == 0)
			rows = malloc(MAX_GROUP_ROWS * sizeof(*rows));
		if (!r->rc && !rows)
			r->rc = hes_fail(r->err, -ENOMEM, "out of memory");
		if (!r->rc && n == MAX_GROUP_ROWS)
			r->rc = hes_csv_fail(r->csv, r->err, -E2BIG, "more than %d rows", MAX_GROUP_ROWS);
		if (!r->rc)
			rows[n++] = row;
	}
	for (size_t i = 0; !r->rc && i < n; i++)
		if (first_of_group(rows, i))
			observe_group(r, rows, n, i);
	free(rows);
}

int hes_observe_tables(const struct hes_model *m, const char *dir, const struct hes_gpu_type *gpu,
		       struct hes_observations *out, struct hes_err *err)
{
	struct reader r = {
		.m = m, .dir = dir, .gpu = gpu, .out = out,
		.board = &out->boards[out->n_boards - 1], .first = out->n, .err = err,
	};

	read_solo(&r);
	read_pairs(&r);
	read_groups(&r);
	hes_csv_close(r.csv);
	if (!r.rc && out->n == r.first && r.board->unknown + r.board->unsteady + r.board->undescribed == 0)
		r.rc = hes_fail(err, -ENOENT, "%s: no rows in solo.csv, pairs.csv or groups.csv", dir);
	return r.rc;
}
