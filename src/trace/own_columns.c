/*
 * own_columns.c - read a log whose user names its columns; see trace.h.
 *
 * A row without a run time (the text is empty, or what schedulers write there) is a job that never
 * ran.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/utf8.h"
#include "trace/dates.h"
#include "trace/source.h"

#define MAX_TIME_US 1e16 /* the year 2286 */
#define MAX_GPUS    1e5

enum field { ID, ARRIVAL, START, END, RUNTIME, GPUS, WORKLOAD, BATCH_SIZE, N_FIELDS };

const char *const hes_trace_fields[] = {
	"id", "arrival", "start", "end", "runtime", "gpus", "workload", "batch_size", NULL,
};

static const struct {
	const char *name;
	double us;
} units[] = {
	{ "us", 1 }, { "ms", 1e3 }, { "s", 1e6 }, { "min", 6e7 }, { "h", 3.6e9 },
};

struct own_log {
	struct hes_trace base;
	struct hes_csv *csv;
	int col[N_FIELDS];        /* -1: none */
	double unit_us[N_FIELDS]; /* of times */
};

static bool is_time(enum field f)
{
	return f == ARRIVAL || f == START || f == END || f == RUNTIME;
}

/* --- the columns --- */

/* @return its index, or -EINVAL */
static int field_find(const char *name, struct hes_err *err)
{
	char known[96] = "";

	for (int f = 0; f < N_FIELDS; f++) {
		size_t at = strlen(known);

		if (strcmp(hes_trace_fields[f], name) == 0)
			return f;
		snprintf(known + at, sizeof(known) - at, "%s%s", f ? ", " : "",
			 hes_trace_fields[f]);
	}
	return hes_fail(err, -EINVAL, "columns: no field \"%.64s\"; there are: %s", name, known);
}

/* Cut ":UNIT" off the name of a column of times. */
static double take_unit(char *column)
{
	char *colon = strrchr(column, ':');

	for (size_t i = 0; colon && i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(units[i].name, colon + 1) == 0) {
			*colon = '\0';
			return units[i].us;
		}
	return 1e6;
}

/* @item is "FIELD=COLUMN" or "FIELD=COLUMN:UNIT". */
static int bind_item(struct own_log *log, char *item, struct hes_err *err)
{
	char *column = strchr(item, '=');
	int f;

	if (!column || !column[1])
		return hes_fail(err, -EINVAL,
				"columns: \"%.64s\" is not FIELD=COLUMN, such as runtime=duration",
				item);
	*column++ = '\0';
	f = field_find(item, err);
	if (f < 0)
		return f;
	if (log->col[f] >= 0)
		return hes_fail(err, -EINVAL, "columns: %s is given twice", item);
	if (is_time((enum field)f))
		log->unit_us[f] = take_unit(column);
	log->col[f] = hes_csv_column(log->csv, column, err);
	return log->col[f] < 0 ? log->col[f] : 0;
}

static int bind(struct own_log *log, const char *columns, struct hes_err *err)
{
	char *text = strdup(columns), *rest = text, *item;
	int rc = text ? 0 : hes_fail(err, -ENOMEM, "columns: out of memory");

	for (int f = 0; f < N_FIELDS; f++)
		log->col[f] = -1;
	while (!rc && (item = strsep(&rest, ",")))
		rc = bind_item(log, item, err);
	free(text);
	if (rc)
		return rc;
	if ((log->col[START] < 0) != (log->col[END] < 0) ||
	    (log->col[RUNTIME] < 0) == (log->col[START] < 0))
		return hes_fail(err, -EINVAL,
				"columns: \"%.96s\" must have the run time once: runtime=COLUMN, "
				"or start=COLUMN "
				"and end=COLUMN",
				columns);
	return 0;
}

/* --- rows --- */

static bool is_missing(const char *text)
{
	return !*text || strcmp(text, "None") == 0 || strcmp(text, "Unknown") == 0;
}

/* Seconds, another unit, or a date. */
static int read_time(const struct own_log *log, enum field f, int64_t *out_us, struct hes_err *err)
{
	const char *text = hes_csv_text(log->csv, log->col[f]);
	double v;
	int rc;

	if (f != RUNTIME && date_parse(text, out_us))
		return 0;
	rc = hes_csv_double(log->csv, log->col[f], 0, MAX_TIME_US / log->unit_us[f], &v, err);
	if (rc == -EINVAL && f != RUNTIME)
		rc = hes_csv_fail(log->csv, err, -EINVAL,
				  "%s: \"%.64s\" is neither a number nor a time like " DATE_EXAMPLE,
				  hes_csv_column_name(log->csv, (size_t)log->col[f]), text);
	if (!rc)
		*out_us = llround(v * log->unit_us[f]);
	return rc;
}

/* @return 1; 0 it never ran; negative errno */
static int read_runtime(const struct own_log *log, struct hes_trace_row *out, struct hes_err *err)
{
	int64_t start, end;
	int rc;

	for (int f = START; f <= RUNTIME; f++)
		if (log->col[f] >= 0 && is_missing(hes_csv_text(log->csv, log->col[f])))
			return 0;
	if (log->col[RUNTIME] >= 0) {
		rc = read_time(log, RUNTIME, &out->runtime_us, err);
		return rc ? rc : out->runtime_us > 0;
	}
	rc = read_time(log, START, &start, err);
	if (!rc)
		rc = read_time(log, END, &end, err);
	if (rc)
		return rc;
	if (end < start)
		return hes_csv_fail(log->csv, err, -ERANGE, "%s: %.64s is before %s, %.64s",
				    hes_csv_column_name(log->csv, (size_t)log->col[END]),
				    hes_csv_text(log->csv, log->col[END]),
				    hes_csv_column_name(log->csv, (size_t)log->col[START]),
				    hes_csv_text(log->csv, log->col[START]));
	out->runtime_us = end - start;
	return end > start;
}

static int read_name(const struct own_log *log, enum field f, char *out, struct hes_err *err)
{
	const char *text = hes_csv_text(log->csv, log->col[f]);
	struct hes_err why;

	if (log->col[f] < 0 || (f == WORKLOAD && !*text))
		return 0;
	if (hes_check_name(hes_csv_column_name(log->csv, (size_t)log->col[f]), text,
			   HES_NAME_MAX - 1, &why))
		return hes_csv_fail(log->csv, err, -EINVAL, "%s", why.msg);
	strcpy(out, text);
	return 0;
}

static int own_row(const struct own_log *log, struct hes_trace_row *out, struct hes_err *err)
{
	double gpus = 1;
	int rc = log->col[GPUS] >= 0
			 ? hes_csv_double(log->csv, log->col[GPUS], 0, MAX_GPUS, &gpus, err)
			 : 0;

	if (rc || gpus == 0)
		return rc;
	out->gpu_milli = (uint32_t)ceil(gpus * 1000);
	rc = read_runtime(log, out, err);
	if (rc <= 0)
		return rc;
	rc = log->col[ARRIVAL] >= 0 ? read_time(log, ARRIVAL, &out->arrival_us, err) : 0;
	if (!rc)
		rc = read_name(log, ID, out->id, err);
	if (!rc)
		rc = read_name(log, WORKLOAD, out->workload, err);
	if (!rc && hes_csv_text(log->csv, log->col[BATCH_SIZE])[0])
		rc = hes_csv_u32(log->csv, log->col[BATCH_SIZE], 1, HES_MAX_BATCH_SIZE,
				 &out->batch_size, err);
	return rc ? rc : 1;
}

static int own_next(struct hes_trace *t, struct hes_trace_row *out, struct hes_err *err)
{
	const struct own_log *log = (const struct own_log *)t;
	struct hes_trace_row row;
	int rc;

	while ((rc = hes_csv_next(log->csv, err)) == 1) {
		row = (struct hes_trace_row){ 0 };
		rc = own_row(log, &row, err);
		if (rc == 1)
			*out = row;
		if (rc)
			break;
		t->skipped++;
	}
	return rc;
}

static void own_close(struct hes_trace *t)
{
	hes_csv_close(((struct own_log *)t)->csv);
	free(t);
}

int hes_trace_open_columns(const char *path, const char *columns, struct hes_trace **out,
			   struct hes_err *err)
{
	struct own_log *log = calloc(1, sizeof(*log));
	int rc;

	if (!log)
		return hes_fail(err, -ENOMEM, "%s: out of memory", path);
	rc = hes_csv_open(path, &log->csv, err);
	if (!rc)
		rc = bind(log, columns, err);
	if (rc) {
		own_close(&log->base);
		return rc;
	}
	log->base = (struct hes_trace){
		.format = "own columns",
		.name = hes_csv_path(log->csv),
		.no_arrivals = log->col[ARRIVAL] < 0,
		.next = own_next,
		.close = own_close,
	};
	*out = &log->base;
	return 0;
}
