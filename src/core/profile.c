/*
 * profile.c - profiles and samples: their CSV files, order and look-up; see
 * profile.h.
 *
 * A file's columns are a table: name, where the value lies, its range. The
 * same table reads, checks and writes, so that the three cannot part.
 */
#include "heshare/profile.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/utf8.h"

#define MAX_ROWS    10000000
#define MAX_COLUMNS 32

enum kind { TEXT, U32, REAL };

struct column {
	const char *name;
	enum kind   kind;
	size_t      offset;
	double      min, max;
	bool        optional; /* 0, which stands for unknown, where the file has no such column */
};

struct table {
	const char          *what; /* "profiles" */
	const struct column *columns;
	size_t               n_columns;
	size_t               row_size;
};

#define PROFILE(member) offsetof(struct hes_profile, member)
#define SAMPLE(member)  offsetof(struct hes_sample, member)
#define N(array)        (sizeof(array) / sizeof((array)[0]))

#define MIN_US    1e-3
#define MAX_US    1e12
#define MAX_MIB   16777216
#define MAX_MW    10000000
#define MAX_UTIL  1
#define MAX_LOAD  64 /* a sum over neighbours */

static const struct column profile_columns[] = {
	{ "workload",     TEXT, PROFILE(workload), 0, 0, false },
	{ "gpu_type",     TEXT, PROFILE(gpu_type), 0, 0, false },
	{ "batch_size",   U32,  PROFILE(batch_size), 1, 65536, false },
	{ "memory_mib",   U32,  PROFILE(memory_mib), 0, MAX_MIB, false },
	{ "clock_mhz",    U32,  PROFILE(clock_mhz), 0, 10000, true },
	{ "iteration_us", REAL, PROFILE(iteration_us), MIN_US, MAX_US, false },
	{ "busy",         REAL, PROFILE(busy), 0, MAX_UTIL, true },
	{ "sm_util",      REAL, PROFILE(sm_util), 0, MAX_UTIL, false },
	{ "dram_util",    REAL, PROFILE(dram_util), 0, MAX_UTIL, false },
	{ "l2_util",      REAL, PROFILE(l2_util), 0, MAX_UTIL, false },
	{ "power_mw",     U32,  PROFILE(power_mw), 1, MAX_MW, false },
};

static const struct column sample_columns[] = {
	{ "workload",          TEXT, SAMPLE(task.workload), 0, 0, false },
	{ "gpu_type",          TEXT, SAMPLE(task.gpu_type), 0, 0, false },
	{ "batch_size",        U32,  SAMPLE(task.batch_size), 1, 65536, false },
	{ "memory_mib",        U32,  SAMPLE(task.memory_mib), 0, MAX_MIB, false },
	{ "solo_clock_mhz",    U32,  SAMPLE(task.clock_mhz), 0, 10000, true },
	{ "solo_iteration_us", REAL, SAMPLE(task.iteration_us), MIN_US, MAX_US, false },
	{ "solo_busy",         REAL, SAMPLE(task.busy), 0, MAX_UTIL, true },
	{ "solo_sm_util",      REAL, SAMPLE(task.sm_util), 0, MAX_UTIL, false },
	{ "solo_dram_util",    REAL, SAMPLE(task.dram_util), 0, MAX_UTIL, false },
	{ "solo_l2_util",      REAL, SAMPLE(task.l2_util), 0, MAX_UTIL, false },
	{ "solo_power_mw",     U32,  SAMPLE(task.power_mw), 1, MAX_MW, false },
	{ "sm_pct",            U32,  SAMPLE(sm_pct), 1, 100, false },
	{ "clock_mhz",         U32,  SAMPLE(clock_mhz), 1, 10000, false },
	{ "beside_residents",  U32,  SAMPLE(beside.residents), 0, 63, false },
	{ "beside_sm_pct",     U32,  SAMPLE(beside.sm_pct), 0, 6300, false },
	{ "beside_sm_util",    REAL, SAMPLE(beside.sm_util), 0, MAX_LOAD, false },
	{ "beside_dram_util",  REAL, SAMPLE(beside.dram_util), 0, MAX_LOAD, false },
	{ "beside_l2_util",    REAL, SAMPLE(beside.l2_util), 0, MAX_LOAD, false },
	{ "beside_power_mw",   U32,  SAMPLE(beside.power_mw), 0, MAX_MW, false },
	{ "beside_busy",       REAL, SAMPLE(beside.busy), 0, MAX_LOAD, true },
	{ "beside_sm_busy",    REAL, SAMPLE(beside.sm_busy), 0, MAX_LOAD, true },
	{ "beside_dram_busy",  REAL, SAMPLE(beside.dram_busy), 0, MAX_LOAD, true },
	{ "beside_pace",       REAL, SAMPLE(beside.pace), 0, MAX_LOAD, true },
	{ "beside_iterations_per_s", REAL, SAMPLE(beside.iterations_per_s), 0, 1e12, true },
	{ "beside_solo_power_mw",  REAL, SAMPLE(beside.solo_power_mw), 0, 1e9, true },
	{ "beside_solo_clock_mhz", REAL, SAMPLE(beside.solo_clock_mhz), 0, 10000, true },
	{ "iteration_us",      REAL, SAMPLE(iteration_us), MIN_US, MAX_US, false },
	{ "power_mw",          U32,  SAMPLE(power_mw), 1, MAX_MW, false },
};

static const struct table profile_table = {
	"profiles", profile_columns, N(profile_columns), sizeof(struct hes_profile),
};

static const struct table sample_table = {
	"samples", sample_columns, N(sample_columns), sizeof(struct hes_sample),
};

static int read_name(const struct hes_csv *csv, int at, const char *column, char *out, struct hes_err *err)
{
	const char *text = hes_csv_text(csv, at);
	size_t len = strlen(text);

	if (len == 0 || len >= HES_NAME_MAX)
		return hes_csv_fail(csv, err, -EINVAL, "%s: \"%.60s\" must have 1 to %d characters", column,
				    text, HES_NAME_MAX - 1);
	if (!hes_is_utf8(text))
		return hes_csv_fail(csv, err, -EINVAL, "%s: \"%s\" is not UTF-8, which names must be", column, text);
	memcpy(out, text, len + 1);
	return 0;
}

static int read_row(const struct table *t, const struct hes_csv *csv, const int *at, char *row,
		    struct hes_err *err)
{
	int rc = 0;

	memset(row, 0, t->row_size);
	for (size_t i = 0; i < t->n_columns && !rc; i++) {
		const struct column *c = &t->columns[i];
		void *slot = row + c->offset;

		if (at[i] < 0)
			continue;
		if (c->kind == TEXT)
			rc = read_name(csv, at[i], c->name, slot, err);
		else if (c->kind == U32)
			rc = hes_csv_u32(csv, at[i], (uint32_t)c->min, (uint32_t)c->max, slot, err);
		else
			rc = hes_csv_double(csv, at[i], c->min, c->max, slot, err);
	}
	return rc;
}

static int grow(const struct hes_csv *csv, char **rows, size_t *room, size_t row_size, struct hes_err *err)
{
	size_t more = *room ? *room * 2 : 256;
	char *p;

	if (*room >= MAX_ROWS)
		return hes_csv_fail(csv, err, -E2BIG, "more than %d rows", MAX_ROWS);
	p = realloc(*rows, more * row_size);
	if (!p)
		return hes_csv_fail(csv, err, -ENOMEM, "out of memory for %zu rows", more);
	*rows = p;
	*room = more;
	return 0;
}

/* All rows of an open file; *rows is the caller's to free even on failure. */
static int read_rows(const struct table *t, struct hes_csv *csv, char **rows, size_t *n,
		     struct hes_err *err)
{
	int at[MAX_COLUMNS], rc;
	size_t room = 0;

	for (size_t i = 0; i < t->n_columns; i++) {
		const struct column *c = &t->columns[i];

		at[i] = c->optional ? hes_csv_find(csv, c->name) : hes_csv_column(csv, c->name, err);
		if (at[i] < 0 && !c->optional)
			return at[i];
	}
	while ((rc = hes_csv_next(csv, err)) > 0) {
		if (*n == room && (rc = grow(csv, rows, &room, t->row_size, err)))
			return rc;
		rc = read_row(t, csv, at, *rows + *n * t->row_size, err);
		if (rc)
			return rc;
		++*n;
	}
	return rc;
}

static int load(const struct table *t, const char *path, void **out, size_t *out_n, struct hes_err *err)
{
	struct hes_csv *csv;
	char *rows = NULL;
	size_t n = 0;
	int rc = hes_csv_open(path, &csv, err);

	if (rc)
		return rc;
	rc = read_rows(t, csv, &rows, &n, err);
	if (!rc && n == 0)
		rc = hes_fail(err, -EINVAL, "%s: no %s below the header", path, t->what);
	hes_csv_close(csv);
	if (rc) {
		free(rows);
		return rc;
	}
	*out = rows;
	*out_n = n;
	return 0;
}

static void write_row(FILE *f, const struct table *t, const char *row)
{
	for (size_t i = 0; i < t->n_columns; i++) {
		const struct column *c = &t->columns[i];
		const void *slot = row + c->offset;

		if (i)
			fputc(',', f);
		if (c->kind == TEXT)
			hes_csv_put(f, slot);
		else if (c->kind == U32)
			fprintf(f, "%u", *(const uint32_t *)slot);
		else
			fprintf(f, "%.*g", HES_PROFILE_DIGITS, *(const double *)slot);
	}
	fputc('\n', f);
}

static int save(const struct table *t, const char *path, const void *rows, size_t n, struct hes_err *err)
{
	struct hes_file out;
	int rc = hes_file_create(&out, path, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < t->n_columns; i++)
		fprintf(out.f, "%s%s", i ? "," : "", t->columns[i].name);
	fputc('\n', out.f);
	for (size_t i = 0; i < n; i++)
		write_row(out.f, t, (const char *)rows + i * t->row_size);
	return hes_file_commit(&out, err);
}

static int compare(const void *a, const void *b)
{
	const struct hes_profile *x = a, *y = b;
	int d = strcmp(x->workload, y->workload);

	if (!d)
		d = strcmp(x->gpu_type, y->gpu_type);
	return d ? d : (x->batch_size > y->batch_size) - (x->batch_size < y->batch_size);
}

void hes_profiles_sort(struct hes_profiles *p)
{
	if (p->n)
		qsort(p->v, p->n, sizeof(*p->v), compare);
}

int hes_profiles_load(const char *path, struct hes_profiles *out, struct hes_err *err)
{
	struct hes_profiles p = { 0 };
	void *rows;
	int rc = load(&profile_table, path, &rows, &p.n, err);

	if (rc)
		return rc;
	p.v = rows;
	hes_profiles_sort(&p);
	for (size_t i = 1; i < p.n; i++)
		if (compare(&p.v[i - 1], &p.v[i]) == 0) {
			rc = hes_fail(err, -EEXIST, "%s: %s on %s at batch size %u is given twice", path,
				      p.v[i].workload, p.v[i].gpu_type, p.v[i].batch_size);
			hes_profiles_free(&p);
			return rc;
		}
	*out = p;
	return 0;
}

int hes_profiles_save(const char *path, const struct hes_profiles *p, struct hes_err *err)
{
	return save(&profile_table, path, p->v, p->n, err);
}

void hes_profiles_free(struct hes_profiles *p)
{
	free(p->v);
	*p = (struct hes_profiles){ 0 };
}

int hes_samples_load(const char *path, struct hes_samples *out, struct hes_err *err)
{
	void *rows;
	size_t n;
	int rc = load(&sample_table, path, &rows, &n, err);

	if (!rc)
		*out = (struct hes_samples){ rows, n };
	return rc;
}

int hes_samples_save(const char *path, const struct hes_samples *s, struct hes_err *err)
{
	return save(&sample_table, path, s->v, s->n, err);
}

void hes_samples_free(struct hes_samples *s)
{
	free(s->v);
	*s = (struct hes_samples){ 0 };
}

/* First profile that is not before @key. */
static size_t lower_bound(const struct hes_profiles *p, const struct hes_profile *key)
{
	size_t low = 0, high = p->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (compare(&p->v[mid], key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool same_curve(const struct hes_profile *a, const struct hes_profile *b)
{
	return strcmp(a->workload, b->workload) == 0 && strcmp(a->gpu_type, b->gpu_type) == 0;
}

static double between(double a, double b, double t)
{
	return a + (b - a) * t;
}

static uint32_t between_u32(uint32_t a, uint32_t b, double t)
{
	return (uint32_t)lround(between(a, b, t));
}

static void interpolate(const struct hes_profile *a, const struct hes_profile *b, uint32_t batch_size,
			struct hes_profile *out)
{
	double t = (double)(batch_size - a->batch_size) / (b->batch_size - a->batch_size);

	*out = *a;
	out->batch_size = batch_size;
	out->memory_mib = between_u32(a->memory_mib, b->memory_mib, t);
	out->clock_mhz = between_u32(a->clock_mhz, b->clock_mhz, t);
	out->iteration_us = between(a->iteration_us, b->iteration_us, t);
	out->busy = between(a->busy, b->busy, t);
	out->sm_util = between(a->sm_util, b->sm_util, t);
	out->dram_util = between(a->dram_util, b->dram_util, t);
	out->l2_util = between(a->l2_util, b->l2_util, t);
	out->power_mw = between_u32(a->power_mw, b->power_mw, t);
}

/* Profiles are sorted by workload, so that each name is told once. */
static int fail_unknown(const struct hes_profiles *p, const char *workload, struct hes_err *err)
{
	char known[360] = "";
	size_t at = 0;

	for (size_t i = 0; i < p->n && at < sizeof(known); i++)
		if (i == 0 || strcmp(p->v[i].workload, p->v[i - 1].workload) != 0)
			at += (size_t)snprintf(known + at, sizeof(known) - at, "%s%s", i ? ", " : "", p->v[i].workload);
	return hes_fail(err, -ENOENT, "workload \"%.60s\" was never profiled; there are: %s", workload, known);
}

/* Why there is no profile: no such workload, not on this type, or not at this batch size. */
static int not_found(const struct hes_profiles *p, const struct hes_profile *key, struct hes_err *err)
{
	const struct hes_profile *first = NULL, *last = NULL;
	bool workload_known = false;

	for (size_t i = 0; i < p->n; i++) {
		workload_known |= strcmp(p->v[i].workload, key->workload) == 0;
		if (!same_curve(&p->v[i], key))
			continue;
		first = first ? first : &p->v[i];
		last = &p->v[i];
	}
	if (first)
		return hes_fail(err, -ERANGE, "%s on %s: batch size %u is outside the profiled %u to %u",
				key->workload, key->gpu_type, key->batch_size, first->batch_size,
				last->batch_size);
	if (workload_known)
		return hes_fail(err, -ENOENT, "workload \"%s\" was never profiled on %s", key->workload,
				key->gpu_type);
	return fail_unknown(p, key->workload, err);
}

int hes_profile_find(const struct hes_profiles *p, const char *workload, uint32_t batch_size,
		     const char *gpu_type, struct hes_profile *out, struct hes_err *err)
{
	struct hes_profile key = { .batch_size = batch_size };
	size_t i;

	if (strlen(workload) >= HES_NAME_MAX || strlen(gpu_type) >= HES_NAME_MAX)
		return fail_unknown(p, workload, err);
	strcpy(key.workload, workload);
	strcpy(key.gpu_type, gpu_type);
	i = lower_bound(p, &key);
	if (i < p->n && compare(&p->v[i], &key) == 0)
		*out = p->v[i];
	else if (i > 0 && i < p->n && same_curve(&p->v[i - 1], &key) && same_curve(&p->v[i], &key))
		interpolate(&p->v[i - 1], &p->v[i], batch_size, out);
	else
		return not_found(p, &key, err);
	return 0;
}

/* Part of an iteration off the GPU that launching hides once the GPU takes longer. */
#define HIDDEN            0.4
#define BANDWIDTH_REACHED 0.85 /* of the data sheet's */
#define SATURATING_SHARE  0.55 /* of the SMs, that draws all of the bandwidth */

/* An iteration in parts of the solo one: computing, waiting for memory, and how long it all takes. */
struct parts {
	double compute, memory, whole;
	double sms; /* part of the SMs it computes on */
};

static struct parts alone_with_share(const struct hes_gpu_type *g, const struct hes_profile *solo,
				     double share, uint32_t clock_mhz)
{
	double busy = fmax(fmax(solo->busy, solo->sm_util), 1e-3), width = fmax(solo->sm_util / busy, 1e-3);
	double memory = fmin(solo->dram_util / BANDWIDTH_REACHED, 0.98 * busy);
	double clock = clock_mhz / (double)(solo->clock_mhz ? solo->clock_mhz : g->clock_default_mhz);
	struct parts p = { .sms = fmin(width, share) };

	p.compute = (busy - memory) * width / p.sms / clock;
	p.memory = memory * fmax(1, SATURATING_SHARE / share);
	p.whole = fmax(1, (1 - HIDDEN) * (1 - busy) + p.compute + p.memory);
	return p;
}

static void add_activity(struct hes_load *load, const struct hes_gpu_type *g, const struct hes_profile *solo,
			 double share, uint32_t clock_mhz)
{
	struct parts p = alone_with_share(g, solo, share, clock_mhz);
	double power_mw = solo->power_mw / p.whole, before = load->solo_power_mw;
	double held_mhz = solo->clock_mhz ? solo->clock_mhz : g->clock_default_mhz;

	load->busy += (p.compute + p.memory) / p.whole;
	load->sm_busy += p.compute / p.whole * p.sms;
	load->dram_busy += p.memory / p.whole * fmin(1, share / SATURATING_SHARE);
	load->pace += 1 / p.whole;
	load->iterations_per_s += 1e6 / (solo->iteration_us * p.whole);
	load->solo_power_mw += power_mw;
	load->solo_clock_mhz = (load->solo_clock_mhz * before + held_mhz * power_mw) / (before + power_mw);
}

void hes_load_add(struct hes_load *load, const struct hes_gpu_type *g, const struct hes_profile *solo,
		  uint32_t sm_pct, uint32_t clock_mhz)
{
	double share = sm_pct / 100.0;
	/* A neighbour held to its share does this part of the work it does alone. */
	double part = solo->sm_util > share ? share / solo->sm_util : 1;

	load->sm_util += solo->sm_util * part;
	load->dram_util += solo->dram_util * part;
	load->l2_util += solo->l2_util * part;
	load->residents++;
	load->sm_pct += sm_pct;
	add_activity(load, g, solo, share, clock_mhz);
}
