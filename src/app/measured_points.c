/*
 * measured_points.c - solo.csv, pairs.csv and groups.csv as points; see measured_points.h.
 *
 * Values that can only be in another unit are refused: times that do not fill the windows, powers
 * and clocks far from the GPU type's.
 */
#include "app/measured_points.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/texts.h"
#include "core/co_run_text.h"
#include "core/measured_about.h"
#include "core/row.h"

#define MAX_BITS     18   /* characters of NVML's throttle reasons */
#define HELD_DOWN    0xec /* of these: power or heat */
#define OTHER_UNIT   10   /* a value that is further from the possible ones has another unit */
#define WINDOWS_FULL 2    /* times that iterations fill the windows, or these the iterations */

const char *const measured_reason_texts[MEASURED_REASONS] = {
	"not steady",
	"not shared by MPS",
	"not of kind inference",
	"without time or power",
};

const char *const measured_tables[] = { "solo.csv", "pairs.csv", "groups.csv", NULL };

struct member {
	char network[HES_NAME_MAX], precision[HES_NAME_MAX];
	uint32_t batch_size, sm_pct;
	double iterations, iteration_us, cv_pct, memory_mib;
};

struct row {
	size_t at; /* in the table, from 1 */
	uint32_t group, windows, steady;
	char form[HES_NAME_MAX], kind[HES_NAME_MAX], mechanism[HES_NAME_MAX];
	char throttle[MAX_BITS + 1];
	struct member m[2];
	double window_s, power_mw, power_integral_mw, locked_mhz, held_mhz, busy, sm_active,
		sm_occupancy, dram_active, tensor_active, fp32_active, pcie_tx_mibs, pcie_rx_mibs,
		temperature_c;
};

#define AT(member) offsetof(struct row, member)
/* clang-format off */
#define MEMBER_COLUMNS(p, i) \
	{ p "workload", HES_ROW_TEXT, AT(m[i].network), 0, 0, HES_ROW_NEEDED }, \
	{ p "batch_size", HES_ROW_U32, AT(m[i].batch_size), 1, 65536, HES_ROW_NEEDED }, \
	{ p "precision", HES_ROW_TEXT, AT(m[i].precision), 0, 0, HES_ROW_NEEDED }, \
	{ p "sm_share_pct", HES_ROW_U32, AT(m[i].sm_pct), 1, 100, HES_ROW_NEEDED }, \
	{ p "iterations", HES_ROW_MAYBE, AT(m[i].iterations), 0, 1e12, HES_ROW_OPTIONAL }, \
	{ p "iteration_us", HES_ROW_MAYBE, AT(m[i].iteration_us), 1e-3, 1e12, HES_ROW_NEEDED }, \
	{ p "cv_pct", HES_ROW_MAYBE, AT(m[i].cv_pct), 0, 1e8, HES_ROW_OPTIONAL }, \
	{ p "memory_mib", HES_ROW_MAYBE, AT(m[i].memory_mib), 0, 16777216, HES_ROW_OPTIONAL }
#define GPU_COLUMNS \
	{ "kind", HES_ROW_TEXT, AT(kind), 0, 0, HES_ROW_NEEDED }, \
	{ "mechanism", HES_ROW_TEXT, AT(mechanism), 0, 0, HES_ROW_NEEDED }, \
	{ "windows", HES_ROW_U32, AT(windows), 1, 1000000, HES_ROW_NEEDED }, \
	{ "window_s", HES_ROW_REAL, AT(window_s), 1e-6, 1e9, HES_ROW_NEEDED }, \
	{ "steady", HES_ROW_U32, AT(steady), 0, 1, HES_ROW_NEEDED }, \
	{ "power_mw", HES_ROW_MAYBE, AT(power_mw), 0, 1e7, HES_ROW_NEEDED }, \
	{ "power_integral_mw", HES_ROW_MAYBE, AT(power_integral_mw), 0, 1e7, HES_ROW_OPTIONAL }, \
	{ "sm_clock_mhz", HES_ROW_MAYBE, AT(held_mhz), 0, 10000, HES_ROW_OPTIONAL }, \
	{ "gpu_util", HES_ROW_MAYBE, AT(busy), 0, 1, HES_ROW_OPTIONAL }, \
	{ "sm_active", HES_ROW_MAYBE, AT(sm_active), 0, 1, HES_ROW_OPTIONAL }, \
	{ "sm_occupancy", HES_ROW_MAYBE, AT(sm_occupancy), 0, 1, HES_ROW_OPTIONAL }, \
	{ "dram_active", HES_ROW_MAYBE, AT(dram_active), 0, 1, HES_ROW_OPTIONAL }, \
	{ "tensor_active", HES_ROW_MAYBE, AT(tensor_active), 0, 1, HES_ROW_OPTIONAL }, \
	{ "fp32_active", HES_ROW_MAYBE, AT(fp32_active), 0, 1, HES_ROW_OPTIONAL }, \
	{ "pcie_tx_mib_s", HES_ROW_MAYBE, AT(pcie_tx_mibs), 0, 1e9, HES_ROW_OPTIONAL }, \
	{ "pcie_rx_mib_s", HES_ROW_MAYBE, AT(pcie_rx_mibs), 0, 1e9, HES_ROW_OPTIONAL }, \
	{ "temperature_c", HES_ROW_MAYBE, AT(temperature_c), -100, 200, HES_ROW_OPTIONAL }, \
	{ "throttle", HES_ROW_LINE, AT(throttle), 0, MAX_BITS, HES_ROW_OPTIONAL }

static const struct hes_row_column solo_columns[] = {
	MEMBER_COLUMNS("", 0),
	{ "locked_clock_mhz", HES_ROW_MAYBE, AT(locked_mhz), 0, 10000, HES_ROW_OPTIONAL },
	GPU_COLUMNS,
};
static const struct hes_row_column pair_columns[] = {
	MEMBER_COLUMNS("first_", 0), MEMBER_COLUMNS("second_", 1), GPU_COLUMNS,
};
static const struct hes_row_column group_columns[] = {
	{ "group", HES_ROW_U32, AT(group), 0, UINT32_MAX, HES_ROW_NEEDED },
	{ "form", HES_ROW_TEXT, AT(form), 0, 0, HES_ROW_NEEDED },
	MEMBER_COLUMNS("", 0), GPU_COLUMNS,
};
/* clang-format on */
#define TABLE(columns)                                                                      \
	{                                                                                   \
		"rows", columns, sizeof(columns) / sizeof((columns)[0]), sizeof(struct row) \
	}

static const struct hes_row_table tables[] = {
	TABLE(solo_columns),
	TABLE(pair_columns),
	TABLE(group_columns),
};
enum { SOLO, PAIRS, GROUPS };

/* The jobs of a point and where they came from, to find a point that is there twice. */
struct set {
	char *text;
	size_t row;
};

struct measured_reader {
	const struct hes_measured_about *about;
	const char *file; /* DIR/solo.csv */
	struct hes_points points;
	size_t room, left_out[MEASURED_REASONS];
	struct set *sets; /* of this file */
	size_t n_sets;
	struct hes_err *err;
};

static int fail_row(const struct measured_reader *m, const struct row *r, int code,
		    const char *column, const char *value, const char *right)
{
	return hes_fail(m->err, code, "%s: row %zu: %s: \"%.60s\"; %s", m->file, r->at, column,
			value, right);
}

static int check_word(const struct measured_reader *m, const struct row *r, const char *column,
		      const char *value, const char *const *words)
{
	char right[128] = "";

	for (; *words; words++) {
		if (strcmp(value, *words) == 0)
			return 0;
		hes_text_add(right, sizeof(right), ", ", "%s", *words);
	}
	return hes_fail(m->err, -EINVAL, "%s: row %zu: %s: \"%.60s\"; it must be one of %s",
			m->file, r->at, column, value, right);
}

static int check_near(const struct measured_reader *m, const struct row *r, const char *column,
		      double value, double low, double high, const char *unit)
{
	if (isnan(value) || (value >= low / OTHER_UNIT && value <= high * OTHER_UNIT))
		return 0;
	return hes_fail(m->err, -ERANGE, "%s: row %zu: %s: %g; %s is in %s and has %g to %g",
			m->file, r->at, column, value, m->about->type->name, unit, low, high);
}

/* Each window may begin and end within an iteration. */
static int check_time(const struct measured_reader *m, const struct row *r, const struct member *j)
{
	double least = j->iteration_us * (j->iterations - r->windows) / 1e6,
	       most = j->iteration_us * (j->iterations + r->windows) / 1e6;

	if (isnan(least) ||
	    (least <= r->window_s * WINDOWS_FULL && most * WINDOWS_FULL >= r->window_s))
		return 0;
	return hes_fail(m->err, -ERANGE,
			"%s: row %zu: iteration_us: %g; %g iterations took %g s, so %g is expected",
			m->file, r->at, j->iteration_us, j->iterations, r->window_s,
			1e6 * r->window_s / fmax(j->iterations, 1));
}

static int check_member(const struct measured_reader *m, const struct row *r,
			const struct member *j)
{
	static const char *const precisions[] = { "fp16", "fp32", "tf32", NULL };
	int rc = check_word(m, r, "precision", j->precision, precisions);

	if (!rc && strlen(j->network) > HES_NETWORK_MAX)
		return fail_row(m, r, -EINVAL, "workload", j->network,
				"at most 33 bytes are possible");
	return rc ? rc : check_time(m, r, j);
}

static int check_row(const struct measured_reader *m, const struct row *r, size_t n)
{
	static const char *const mechanisms[] = { "mps", "green", "none", NULL };
	const struct hes_gpu_type *g = m->about->type;
	const double idle = g->idle_power_mw, limit = g->power_limit_mw, low = g->clock_min_mhz,
		     high = g->clock_max_mhz;
	char *end;
	int rc = check_word(m, r, "mechanism", r->mechanism, mechanisms);

	strtoull(r->throttle, &end, 16);
	if (!rc && *end)
		rc = fail_row(m, r, -EINVAL, "throttle", r->throttle,
			      "a hexadecimal number is needed");
	if (!rc)
		rc = check_near(m, r, "power_mw", r->power_mw, idle, limit, "mW");
	if (!rc)
		rc = check_near(m, r, "power_integral_mw", r->power_integral_mw, idle, limit, "mW");
	if (!rc)
		rc = check_near(m, r, "sm_clock_mhz", r->held_mhz, low, high, "MHz");
	if (!rc && r->locked_mhz > 0)
		rc = check_near(m, r, "locked_clock_mhz", r->locked_mhz, low, high, "MHz");
	for (size_t i = 0; i < n && !rc; i++)
		rc = check_member(m, r, &r->m[i]);
	return rc;
}

static double power_of(const struct row *r)
{
	return isnan(r->power_mw) ? r->power_integral_mw : r->power_mw;
}

/* @return MEASURED_REASONS: it is a point */
static enum measured_reason reason_of(const struct row *r, const struct member *j, size_t n)
{
	const bool mps = strcmp(r->mechanism, "mps") == 0, whole = n == 1 && j->sm_pct == 100;

	if (strcmp(r->kind, "inference"))
		return MEASURED_NOT_KNOWN;
	if ((!mps && !whole) || strcmp(r->form, "sequential2") == 0)
		return MEASURED_NOT_MPS;
	if (!r->steady)
		return MEASURED_UNSTEADY;
	return isnan(j->iteration_us) || !(power_of(r) >= 1) ? MEASURED_NO_READING
							     : MEASURED_REASONS;
}

static void point_fill(const struct measured_reader *m, const struct row *r, const struct member *j,
		       size_t n, struct hes_point *p)
{
	*p = (struct hes_point){
		.batch_size = j->batch_size,
		.sm_pct = j->sm_pct,
		.clock_mhz = r->locked_mhz > 0 ? (uint32_t)lround(r->locked_mhz) : 0,
		.iteration_us = j->iteration_us,
		.cv = isnan(j->cv_pct) ? 0 : j->cv_pct / 100,
		.windows = r->windows,
		.seconds = r->window_s,
		.memory_mib = n == 1 ? j->memory_mib : NAN,
		.power_mw = (uint32_t)lround(power_of(r)),
		.power_cv = NAN,
		.held_mhz = r->held_mhz,
		.capped =
			r->throttle[0] && !(strtoull(r->throttle, NULL, 16) & HELD_DOWN) ? 0 : NAN,
		.busy = r->busy,
		.memory_busy = NAN,
		.sm_active = r->sm_active,
		.sm_occupancy = r->sm_occupancy,
		.dram_active = r->dram_active,
		.fp32_active = r->fp32_active,
		.tensor_active = r->tensor_active,
		.pcie_tx_mibs = r->pcie_tx_mibs,
		.pcie_rx_mibs = r->pcie_rx_mibs,
		.temperature_c = r->temperature_c,
		.time_se = NAN,
		.first_use_s = NAN,
		.start_s = NAN,
		.run_s = NAN,
	};
	hes_inference_name(p->workload, j->network, j->precision, m->about->style);
	strcpy(p->gpu_type, m->about->type->name);
}

/* Name all points of a set but @self. */
static int name_co_runners(const struct measured_reader *m, const struct row *r,
			   struct hes_point *p, size_t n, size_t self)
{
	char jobs[HES_MAX_SHARING][HES_CO_RUN_JOB_MAX];
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (i != self)
			hes_co_run_text_job(jobs[k++], p[i].workload, p[i].batch_size, p[i].sm_pct);
	return hes_co_run_text_join(jobs, k, p[self].co_runners, sizeof(p[self].co_runners))
		       ? 0
		       : fail_row(m, r, -E2BIG, "workload", p[self].workload,
				  "the names of its co-runners are too long");
}

static int points_reserve(struct measured_reader *m, size_t n)
{
	size_t room = 2 * m->room + n;
	struct hes_point *grown;

	if (m->points.n + n <= m->room)
		return 0;
	grown = realloc(m->points.v, room * sizeof(*grown));
	if (!grown)
		return hes_fail(m->err, -ENOMEM, "out of memory for points");
	m->points.v = grown;
	m->room = room;
	return 0;
}

/* Keep what a set is, to compare it with the others when the table is read. */
static int set_keep(struct measured_reader *m, const struct row *r, const struct hes_point *p)
{
	char all[HES_CO_RUN_ALL_MAX];
	struct set *s = &m->sets[m->n_sets];

	hes_co_run_text_all(p, all);
	if (asprintf(&s->text, "%s at %u MHz, %s", all, p->clock_mhz, r->mechanism) < 0)
		return hes_fail(m->err, -ENOMEM, "out of memory for points");
	s->row = r->at;
	m->n_sets++;
	return 0;
}

/* The jobs that ran together: @n rows of a group, or members of one row. */
static int set_add(struct measured_reader *m, const struct row *r, size_t n, bool in_rows)
{
	enum measured_reason why = MEASURED_REASONS;
	struct hes_point *p;
	int rc = points_reserve(m, n);

	for (size_t i = 0; i < n && why == MEASURED_REASONS; i++)
		why = reason_of(in_rows ? r + i : r, in_rows ? &r[i].m[0] : &r->m[i], n);
	if (!rc && why != MEASURED_REASONS)
		m->left_out[why] += in_rows ? n : 1;
	if (rc || why != MEASURED_REASONS)
		return rc;
	p = m->points.v + m->points.n;
	for (size_t i = 0; i < n; i++)
		point_fill(m, in_rows ? r + i : r, in_rows ? &r[i].m[0] : &r->m[i], n, p + i);
	for (size_t i = 0; i < n && !rc; i++)
		rc = name_co_runners(m, r, p, n, i);
	if (!rc)
		rc = set_keep(m, r, p);
	m->points.n += rc ? 0 : n;
	return rc;
}

static int by_group(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int d = (x->group > y->group) - (x->group < y->group);

	return d ? d : (x->at > y->at) - (x->at < y->at);
}

/* Rows of the group that begins at @r; the form ends with its size. */
static int group_size(const struct measured_reader *m, const struct row *r, size_t left,
		      size_t *out)
{
	static const char *const forms[] = {
		"equal3",      "equal4", "unpartitioned2", "unpartitioned3", "unpartitioned4",
		"sequential2", NULL
	};
	size_t n = 1, size;
	int rc = check_word(m, r, "form", r->form, forms);

	if (rc)
		return rc;
	size = (size_t)(r->form[strlen(r->form) - 1] - '0');
	while (n < left && r[n].group == r->group)
		n++;
	for (size_t i = 1; i < n; i++)
		if (strcmp(r[i].form, r->form))
			return fail_row(m, &r[i], -EINVAL, "form", r[i].form,
					"a group has one form");
	if (n != size)
		return hes_fail(m->err, -EINVAL,
				"%s: row %zu: group %u needs %zu members and has %zu rows", m->file,
				r->at, r->group, size, n);
	*out = size;
	return 0;
}

static int by_set(const void *a, const void *b)
{
	const struct set *x = a, *y = b;
	int d = strcmp(x->text, y->text);

	return d ? d : (x->row > y->row) - (x->row < y->row);
}

static int check_twice(const struct measured_reader *m)
{
	if (m->n_sets)
		qsort(m->sets, m->n_sets, sizeof(*m->sets), by_set);
	for (size_t i = 1; i < m->n_sets; i++)
		if (strcmp(m->sets[i - 1].text, m->sets[i].text) == 0)
			return hes_fail(m->err, -EEXIST, "%s: row %zu: %.200s: row %zu has it, too",
					m->file, m->sets[i].row, m->sets[i].text,
					m->sets[i - 1].row);
	return 0;
}

static int rows_add(struct measured_reader *m, int table, struct row *rows, size_t n)
{
	size_t size = 1;
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		rows[i].at = i + 1;
		rc = check_row(m, &rows[i], table == PAIRS ? 2 : 1);
	}
	if (!rc && table == GROUPS)
		qsort(rows, n, sizeof(*rows), by_group);
	for (size_t i = 0; i < n && !rc; i += size) {
		if (table == GROUPS)
			rc = group_size(m, &rows[i], n - i, &size);
		if (!rc)
			rc = set_add(m, &rows[i], table == PAIRS ? 2 : size, table == GROUPS);
	}
	return rc ? rc : check_twice(m);
}

/* @return 1 it has rows; 0 it is not there, or nothing was measured yet; negative errno */
static int table_has_rows(const char *path, struct hes_err *err)
{
	struct hes_csv *csv;
	struct stat st;
	int rc;

	if (stat(path, &st) && errno == ENOENT)
		return 0;
	rc = hes_file_check_plain(path, err);
	if (!rc)
		rc = hes_csv_open(path, &csv, err);
	if (rc)
		return rc;
	rc = hes_csv_next(csv, err);
	hes_csv_close(csv);
	return rc;
}

static int table_add(struct measured_reader *m, int table)
{
	void *rows = NULL;
	size_t n = 0;
	int rc = table_has_rows(m->file, m->err);

	if (rc <= 0)
		return rc;
	rc = hes_rows_load(&tables[table], m->file, &rows, &n, m->err);
	if (rc)
		return rc;
	m->sets = calloc(n, sizeof(*m->sets));
	rc = m->sets ? rows_add(m, table, rows, n)
		     : hes_fail(m->err, -ENOMEM, "out of memory for points");
	for (size_t i = 0; i < m->n_sets; i++)
		free(m->sets[i].text);
	free(m->sets);
	m->sets = NULL;
	m->n_sets = 0;
	free(rows);
	return rc;
}

bool measured_is_there(const char *folder)
{
	char path[PATH_MAX + 16];
	struct stat st;

	snprintf(path, sizeof(path), "%s/gpu.json", folder);
	return stat(path, &st) == 0;
}

int measured_points_load(const char *folder, const struct hes_catalogue *c, struct hes_points *out,
			 size_t left_out[MEASURED_REASONS], struct hes_err *err)
{
	struct hes_measured_about about;
	struct measured_reader m = { .about = &about, .err = err };
	char path[PATH_MAX + 16];
	size_t n_left = 0;
	int rc = hes_measured_about_load(folder, c, false, &about, err);

	if (rc)
		return rc;
	m.file = path;
	for (int t = SOLO; t <= GROUPS && !rc; t++) {
		snprintf(path, sizeof(path), "%s/%s", folder, measured_tables[t]);
		rc = table_add(&m, t);
	}
	json_decref(about.doc);
	for (size_t i = 0; i < MEASURED_REASONS; i++)
		n_left += m.left_out[i];
	if (!rc && m.points.n + n_left == 0)
		rc = hes_fail(err, -ENOENT, "%s: no rows in solo.csv, pairs.csv or groups.csv",
			      folder);
	if (rc) {
		hes_points_free(&m.points);
		return rc;
	}
	*out = m.points;
	memcpy(left_out, m.left_out, sizeof(m.left_out));
	return 0;
}
