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
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/texts.h"
#include "core/co_run_text.h"
#include "model/measured_about.h"
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

struct member {
	char network[HES_NAME_MAX], precision[HES_NAME_MAX];
	uint32_t batch_size, sm_pct;
	double iterations, iteration_us, cv_pct, memory_mib;
};

struct row {
	size_t at; /* in the table, from 1 */
	uint32_t group, steady;
	char form[HES_NAME_MAX], kind[HES_NAME_MAX], mechanism[HES_NAME_MAX];
	char throttle[MAX_BITS + 1];
	struct member m[2];
	double power_mw, power_integral_mw, locked_mhz;
	struct hes_point gpu;               /* what the columns of the GPU say of a point */
	char set[HES_CO_RUN_ALL_MAX + 128]; /* jobs, clock and mechanism of a point; "": none */
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
	{ "windows", HES_ROW_U32, AT(gpu.windows), 1, 1000000, HES_ROW_NEEDED }, \
	{ "window_s", HES_ROW_REAL, AT(gpu.seconds), 1e-6, 1e9, HES_ROW_NEEDED }, \
	{ "steady", HES_ROW_U32, AT(steady), 0, 1, HES_ROW_NEEDED }, \
	{ "power_mw", HES_ROW_MAYBE, AT(power_mw), 0, 1e7, HES_ROW_NEEDED }, \
	{ "power_integral_mw", HES_ROW_MAYBE, AT(power_integral_mw), 0, 1e7, HES_ROW_OPTIONAL }, \
	{ "sm_clock_mhz", HES_ROW_MAYBE, AT(gpu.held_mhz), 0, 10000, HES_ROW_OPTIONAL }, \
	{ "gpu_util", HES_ROW_MAYBE, AT(gpu.busy), 0, 1, HES_ROW_OPTIONAL }, \
	{ "sm_active", HES_ROW_MAYBE, AT(gpu.sm_active), 0, 1, HES_ROW_OPTIONAL }, \
	{ "sm_occupancy", HES_ROW_MAYBE, AT(gpu.sm_occupancy), 0, 1, HES_ROW_OPTIONAL }, \
	{ "dram_active", HES_ROW_MAYBE, AT(gpu.dram_active), 0, 1, HES_ROW_OPTIONAL }, \
	{ "tensor_active", HES_ROW_MAYBE, AT(gpu.tensor_active), 0, 1, HES_ROW_OPTIONAL }, \
	{ "fp32_active", HES_ROW_MAYBE, AT(gpu.fp32_active), 0, 1, HES_ROW_OPTIONAL }, \
	{ "pcie_tx_mib_s", HES_ROW_MAYBE, AT(gpu.pcie_tx_mibs), 0, 1e9, HES_ROW_OPTIONAL }, \
	{ "pcie_rx_mib_s", HES_ROW_MAYBE, AT(gpu.pcie_rx_mibs), 0, 1e9, HES_ROW_OPTIONAL }, \
	{ "temperature_c", HES_ROW_MAYBE, AT(gpu.temperature_c), -100, 200, HES_ROW_OPTIONAL }, \
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

#define TABLE(columns) \
	{ "rows", columns, sizeof(columns) / sizeof((columns)[0]), sizeof(struct row) }
static const struct measured_table {
	const char *file;
	struct hes_row_table columns;
	size_t members; /* of a row */
	bool groups; /* rows are members of a group */
} tables[] = {
	{ "solo.csv", TABLE(solo_columns), 1, false },
	{ "pairs.csv", TABLE(pair_columns), 2, false },
	{ "groups.csv", TABLE(group_columns), 1, true },
};
/* clang-format on */

struct measured_reader {
	const struct hes_measured_about *about;
	struct hes_points *to;
	size_t *left_out;
	struct hes_err *err;
};

static int check_word(const char *column, const char *value, const char *words, struct hes_err *err)
{
	char word[HES_NAME_MAX];

	for (const char *left = words; hes_text_next(&left, word, sizeof(word));)
		if (strcmp(value, word + strspn(word, " ")) == 0)
			return 0;
	return hes_fail(err, -EINVAL, "%s: \"%.60s\"; it must be one of %s", column, value, words);
}

static int check_units(const struct row *r, const struct hes_gpu_type *g, struct hes_err *err)
{
	const double idle = g->idle_power_mw, limit = g->power_limit_mw, low = g->clock_min_mhz,
		     high = g->clock_max_mhz;
	const struct {
		const char *column, *unit;
		double value, low, high;
	} checked[] = {
		{ "power_mw", "mW", r->power_mw, idle, limit },
		{ "power_integral_mw", "mW", r->power_integral_mw, idle, limit },
		{ "sm_clock_mhz", "MHz", r->gpu.held_mhz, low, high },
		{ "locked_clock_mhz", "MHz", r->locked_mhz > 0 ? r->locked_mhz : NAN, low, high },
	};

	for (size_t i = 0; i < sizeof(checked) / sizeof(checked[0]); i++)
		if (checked[i].value < checked[i].low / OTHER_UNIT ||
		    checked[i].value > checked[i].high * OTHER_UNIT)
			return hes_fail(err, -ERANGE, "%s: %g; %s is in %s and has %g to %g",
					checked[i].column, checked[i].value, g->name,
					checked[i].unit, checked[i].low, checked[i].high);
	return 0;
}

/* Each window may begin and end within an iteration. */
static int check_time(const struct row *r, const struct member *j, struct hes_err *err)
{
	const double least = j->iteration_us * (j->iterations - r->gpu.windows) / 1e6,
		     most = j->iteration_us * (j->iterations + r->gpu.windows) / 1e6,
		     took = r->gpu.seconds;

	if (isnan(least) || (least <= took * WINDOWS_FULL && most * WINDOWS_FULL >= took))
		return 0;
	return hes_fail(err, -ERANGE,
			"iteration_us: %g; %g iterations took %g s, so %g is expected",
			j->iteration_us, j->iterations, took, 1e6 * took / fmax(j->iterations, 1));
}

static int check_row(const struct row *r, size_t members, const struct hes_gpu_type *g,
		     struct hes_err *err)
{
	char *end;
	int rc = check_word("mechanism", r->mechanism, "mps, green, none", err);

	strtoull(r->throttle, &end, 16);
	if (!rc && *end)
		rc = hes_fail(err, -EINVAL, "throttle: \"%s\"; a hexadecimal number is needed",
			      r->throttle);
	if (!rc)
		rc = check_units(r, g, err);
	for (size_t i = 0; i < members && !rc; i++) {
		rc = check_word("precision", r->m[i].precision, "fp16, fp32, tf32", err);
		if (!rc && strlen(r->m[i].network) > HES_NETWORK_MAX)
			rc = hes_fail(err, -EINVAL,
				      "workload: \"%s\"; at most %d bytes are possible",
				      r->m[i].network, HES_NETWORK_MAX);
		if (!rc)
			rc = check_time(r, &r->m[i], err);
	}
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

static struct hes_point point_of(const struct hes_measured_about *about, const struct row *r,
				 const struct member *j, size_t n)
{
	struct hes_point p = r->gpu;

	p.batch_size = j->batch_size;
	p.sm_pct = j->sm_pct;
	p.clock_mhz = r->locked_mhz > 0 ? (uint32_t)lround(r->locked_mhz) : 0;
	p.iteration_us = j->iteration_us;
	p.cv = isnan(j->cv_pct) ? 0 : j->cv_pct / 100;
	p.memory_mib = n == 1 ? j->memory_mib : NAN;
	p.power_mw = (uint32_t)lround(power_of(r));
	p.capped = r->throttle[0] && !(strtoull(r->throttle, NULL, 16) & HELD_DOWN) ? 0 : NAN;
	p.power_cv = p.memory_busy = p.time_se = p.first_use_s = p.start_s = p.run_s = NAN;
	hes_inference_name(p.workload, j->network, j->precision, about->style);
	strcpy(p.gpu_type, about->type->name);
	return p;
}

/* Name all points of a set but @self. */
static int name_co_runners(struct hes_point *p, size_t n, size_t self, struct hes_err *err)
{
	char jobs[HES_MAX_SHARING][HES_CO_RUN_JOB_MAX];
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (i != self)
			hes_co_run_text_job(jobs[k++], p[i].workload, p[i].batch_size, p[i].sm_pct);
	return hes_co_run_text_join(jobs, k, p[self].co_runners, sizeof(p[self].co_runners))
		       ? 0
		       : hes_fail(err, -E2BIG,
				  "workload: \"%s\"; the names of its co-runners are too long",
				  p[self].workload);
}

/* The jobs that ran together: @n rows of a group, or members of one row. */
static int set_add(const struct measured_reader *m, struct row *r, size_t n, bool in_rows)
{
	struct hes_point p[HES_MAX_SHARING], *grown;
	char all[HES_CO_RUN_ALL_MAX];

	for (size_t i = 0; i < n; i++) {
		const struct row *own = in_rows ? r + i : r;
		const struct member *j = in_rows ? own->m : &r->m[i];
		const enum measured_reason why = reason_of(own, j, n);

		if (why != MEASURED_REASONS) {
			m->left_out[why] += in_rows ? n : 1;
			return 0;
		}
		p[i] = point_of(m->about, own, j, n);
	}
	for (size_t i = 0; i < n; i++) {
		int rc = name_co_runners(p, n, i, m->err);

		if (rc)
			return rc;
		grown = hes_grow(m->to->v, m->to->n, sizeof(*grown));
		if (!grown)
			return hes_fail(m->err, -ENOMEM, "out of memory for points");
		m->to->v = grown;
		grown[m->to->n++] = p[i];
	}
	hes_co_run_text_all(p, all);
	snprintf(r->set, sizeof(r->set), "%s at %u MHz, %s", all, p->clock_mhz, r->mechanism);
	return 0;
}

static int by_group(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int d = (x->group > y->group) - (x->group < y->group);

	return d ? d : (x->at > y->at) - (x->at < y->at);
}

static int by_set(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int d = strcmp(x->set, y->set);

	return d ? d : (x->at > y->at) - (x->at < y->at);
}

/* Rows of the group that begins at @r; the form ends with its size. */
static int group_size(const struct row *r, size_t left, size_t *out, struct hes_err *err)
{
	size_t n = 1, size;
	int rc = check_word("form", r->form,
			    "equal3, equal4, unpartitioned2, unpartitioned3, unpartitioned4, "
			    "sequential2",
			    err);

	if (rc)
		return rc;
	size = (size_t)(r->form[strlen(r->form) - 1] - '0');
	for (; n < left && r[n].group == r->group; n++)
		if (strcmp(r[n].form, r->form))
			return hes_fail(err, -EINVAL,
					"form: \"%s\"; row %zu of the same group has \"%s\"",
					r->form, r[n].at, r[n].form);
	*out = size;
	return n == size ? 0
			 : hes_fail(err, -EINVAL, "group %u needs %zu members and has %zu rows",
				    r->group, size, n);
}

/* The sets of a table, from the @i'th row on. @return 0; on failure *i is at the row at fault */
static int sets_add(const struct measured_reader *m, const struct measured_table *t,
		    struct row *rows, size_t n, size_t *i)
{
	size_t size = 1;
	int rc = 0;

	for (*i = 0; *i < n; *i += size) {
		if (t->groups)
			rc = group_size(&rows[*i], n - *i, &size, m->err);
		if (!rc)
			rc = set_add(m, &rows[*i], t->groups ? size : t->members, t->groups);
		if (rc)
			return rc;
	}
	qsort(rows, n, sizeof(*rows), by_set);
	for (*i = 1; *i < n; ++*i)
		if (rows[*i].set[0] && strcmp(rows[*i - 1].set, rows[*i].set) == 0)
			return hes_fail(m->err, -EEXIST, "%.200s: row %zu has it, too",
					rows[*i].set, rows[*i - 1].at);
	return 0;
}

/* @return the rows of the table, 0 where it is not there or nothing was measured yet; negative
 * errno
 */
static int table_add(const struct measured_reader *m, const char *folder,
		     const struct measured_table *t)
{
	char path[PATH_MAX + 16];
	struct row *rows;
	void *loaded;
	size_t n, i;
	int rc;

	snprintf(path, sizeof(path), "%s/%s", folder, t->file);
	rc = access(path, F_OK) ? -ENODATA : hes_file_check_plain(path, m->err);
	if (!rc)
		rc = hes_rows_load(&t->columns, path, &loaded, &n, m->err);
	if (rc)
		return rc == -ENODATA ? 0 : rc;
	rows = loaded;
	for (i = 0; i < n && !rc; i++) {
		rows[i].at = i + 1;
		rc = check_row(&rows[i], t->members, m->about->type, m->err);
	}
	i -= rc != 0;
	if (!rc && t->groups)
		qsort(rows, n, sizeof(*rows), by_group);
	if (!rc)
		rc = sets_add(m, t, rows, n, &i);
	if (rc)
		hes_fail_in(m->err, "%s: row %zu", path, rows[i].at);
	free(rows);
	return rc ? rc : (int)n;
}

bool measured_is_there(const char *folder)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/gpu.json", folder);
	return access(path, F_OK) == 0;
}

int measured_points_load(const char *folder, const struct hes_catalogue *c, struct hes_points *to,
			 size_t left_out[MEASURED_REASONS], struct hes_err *err)
{
	struct hes_measured_about about;
	const struct measured_reader m = { &about, to, left_out, err };
	int n = 0, rc = hes_measured_about_load(folder, c, false, &about, err);

	if (rc)
		return rc;
	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]) && rc >= 0; t++) {
		rc = table_add(&m, folder, &tables[t]);
		n += rc;
	}
	json_decref(about.doc);
	return rc < 0 ? rc : n;
}
