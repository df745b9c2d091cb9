/*
 * log_reader.c - read a log whose columns are known, by the table of log_formats.c or by the user;
 * see trace.h. cells.c knows how values are written.
 *
 * A row that lacks what is needed is skipped and counted; a value that cannot be is an error.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "base/texts.h"
#include "base/utf8.h"
#include "trace/cells.h"
#include "trace/source.h"

enum field {
	ID,
	ARRIVAL,
	START,
	END,
	RUNTIME,
	GPUS,
	INSTANCES,
	WORKLOAD,
	BATCH_SIZE,
	ITERATIONS,
	N_FIELDS
};

const char *const hes_trace_fields[] = {
	"id",        "arrival",  "start",      "end",        "runtime", "gpus",
	"instances", "workload", "batch_size", "iterations", NULL,
};

struct unit {
	const char *name;
	double factor;
};

static const struct unit time_units[] = {
	{ "us", 1 },    { "ms", 1e3 },    { "s", 1e6 },  { "min", 6e7 },
	{ "h", 3.6e9 }, { "d", 8.64e10 }, { NULL, 1e6 },
};
static const struct unit gpu_units[] = {
	{ "percent", 1e-2 },
	{ "%", 1e-2 },
	{ "milli", 1e-3 },
	{ NULL, 1 },
};

struct log {
	struct hes_trace base;
	struct hes_csv *csv;
	int col[N_FIELDS];          /* -1: none */
	double unit[N_FIELDS];      /* microseconds, or GPUs */
	bool has_unit[N_FIELDS];    /* the user named it, or the format is known */
	bool comma;                 /* 0,5 is a number */
	int job_id;                 /* column of Slurm's JobID; -1: none */
	char last_id[HES_NAME_MAX]; /* of the last row that was no step */
	struct hes_trace_row held;  /* a job whose further components may follow */
	char held_id[HES_NAME_MAX]; /* its id without the component; "": none is held */
};

/* --- the columns --- */

/* @return its index, or -EINVAL */
static int field_find(const char *name, struct hes_err *err)
{
	char known[128] = "";

	for (int f = 0; f < N_FIELDS; f++) {
		if (strcmp(hes_trace_fields[f], name) == 0)
			return f;
		hes_text_add(known, sizeof(known), ", ", "%s", hes_trace_fields[f]);
	}
	return hes_fail(err, -EINVAL, "--columns: no field \"%.64s\"; there are: %s", name, known);
}

/* Cut ":UNIT" off the name of a column. */
static double take_unit(char *column, enum field f)
{
	const struct unit *u = f == GPUS ? gpu_units : time_units;
	char *colon = strrchr(column, ':');

	while (u->name && (!colon || strcmp(u->name, colon + 1) != 0))
		u++;
	if (u->name)
		*colon = '\0';
	return u->factor;
}

static bool takes_unit(enum field f)
{
	return f == ARRIVAL || f == START || f == END || f == RUNTIME || f == GPUS;
}

/* A name, or a number from 1. @return -1: there is no such column */
static int column_find(const struct hes_csv *c, const char *name)
{
	const int named = hes_csv_find(c, name);
	uint32_t number;

	if (named >= 0)
		return named;
	return hes_parse_u32("", name, 1, (uint32_t)hes_csv_columns(c), &number, NULL)
		       ? -1
		       : (int)number - 1;
}

bool log_has(const struct hes_csv *c, const char *const *items)
{
	for (; *items; items++) {
		char column[HES_NAME_MAX];

		snprintf(column, sizeof(column), "%s", strchr(*items, '=') + 1);
		take_unit(column, strncmp(*items, "gpus", 4) == 0 ? GPUS : RUNTIME);
		if (hes_csv_find(c, column) < 0)
			return false;
	}
	return true;
}

/* @return -ENOENT: there is no @column, or it has a unit that there is not */
static int column_missing(const struct hes_csv *c, enum field f, char *column, struct hes_err *err)
{
	char *colon = takes_unit(f) ? strrchr(column, ':') : NULL, known[64] = "";

	if (colon) {
		*colon = '\0';
		if (column_find(c, column) < 0)
			*colon = ':';
	}
	if (!colon || *colon)
		return hes_csv_column(c, column, err);
	for (const struct unit *u = f == GPUS ? gpu_units : time_units; u->name; u++)
		hes_text_add(known, sizeof(known), ", ", "%s", u->name);
	return hes_fail(err, -ENOENT, "--columns: no unit \"%.32s\" of %s; there are: %s",
			colon + 1, hes_trace_fields[f], known);
}

/* @item is "FIELD=COLUMN" or "FIELD=COLUMN:UNIT". */
static int log_bind_item(struct log *log, const char *given, struct hes_err *err)
{
	char item[256], *column;
	int f;

	snprintf(item, sizeof(item), "%s", given);
	column = strchr(item, '=');
	if (!column || !column[1])
		return hes_fail(
			err, -EINVAL,
			"--columns: \"%.64s\" is not FIELD=COLUMN, such as runtime=duration", item);
	*column++ = '\0';
	f = field_find(item, err);
	if (f < 0)
		return f;
	if (log->col[f] >= 0)
		return hes_fail(err, -EINVAL, "--columns: %s is given twice", item);
	log->col[f] = column_find(log->csv, column);
	if (log->col[f] < 0 && takes_unit((enum field)f)) {
		log->unit[f] = take_unit(column, (enum field)f);
		log->has_unit[f] = true;
		log->col[f] = column_find(log->csv, column);
	}
	return log->col[f] < 0 ? column_missing(log->csv, (enum field)f, column, err) : 0;
}

static int log_bind(struct log *log, const char *const *items, struct hes_err *err)
{
	int rc = 0;

	for (int f = 0; f < N_FIELDS; f++) {
		log->col[f] = -1;
		log->unit[f] = f == GPUS ? 1 : 1e6;
	}
	for (; !rc && *items; items++)
		rc = log_bind_item(log, *items, err);
	if (rc)
		return rc;
	if ((log->col[START] < 0) != (log->col[END] < 0) ||
	    (log->col[RUNTIME] < 0 && log->col[START] < 0 && log->col[ITERATIONS] < 0))
		return hes_fail(
			err, -EINVAL,
			"--columns: the run time is needed: runtime=COLUMN, or start=COLUMN "
			"and end=COLUMN, or iterations=COLUMN");
	log->job_id = log->col[ID];
	for (size_t i = 0; log->job_id < 0 && i < hes_csv_columns(log->csv); i++)
		if (strncasecmp(hes_csv_column_name(log->csv, i), "JobID", 5) == 0)
			log->job_id = (int)i;
	return 0;
}

/* --- rows --- */

static const char *log_cell(const struct log *log, enum field f)
{
	return hes_csv_text(log->csv, log->col[f]);
}

static bool log_lacks(const struct log *log, enum field f)
{
	return log->col[f] >= 0 && cell_is_missing(log_cell(log, f));
}

/* @rc with file, line and column before its sentence. */
static int cell_fail(const struct log *log, enum field f, int rc, const struct hes_err *why,
		     struct hes_err *err)
{
	return rc ? hes_csv_fail(log->csv, err, rc, "%s: %s",
				 hes_csv_column_name(log->csv, (size_t)log->col[f]), why->msg)
		  : 0;
}

/* "20170301", which may or may not be a date. */
static bool is_bare_date(const char *text)
{
	return strlen(text) == 8 && text[strspn(text, "0123456789")] == '\0' &&
	       strncmp(text, "19700101", 8) >= 0 && strncmp(text, "2100", 4) < 0;
}

static int read_moment(struct log *log, enum field f, int64_t *out_us, struct hes_err *err)
{
	struct hes_err why;
	int rc;

	if (!log->has_unit[f] && is_bare_date(log_cell(log, f)))
		return hes_csv_fail(log->csv, err, -EINVAL,
				    "%s: %.8s is a date or a number of seconds; write dates like "
				    "2017-03-01, and "
				    "name the unit of numbers, as in %s=%.40s:s",
				    hes_csv_column_name(log->csv, (size_t)log->col[f]),
				    log_cell(log, f), hes_trace_fields[f],
				    hes_csv_column_name(log->csv, (size_t)log->col[f]));
	rc = cell_moment(log_cell(log, f), log->comma, log->unit[f], log->base.local_times, out_us,
			 &why);

	log->base.unzoned |= rc == 1;
	return rc < 0 ? cell_fail(log, f, rc, &why, err) : 0;
}

static int read_number(const struct log *log, enum field f, double max, double *out,
		       struct hes_err *err)
{
	struct hes_err why;
	int rc = f == GPUS ? cell_gpus(log_cell(log, f), log->comma, out, &why)
			   : cell_number(log_cell(log, f), log->comma, max, out, &why);

	return cell_fail(log, f, rc, &why, err);
}

/* "101.batch" and "101.0": a step. "101_[2-9]": tasks of an array that wait. */
static bool is_step(struct log *log)
{
	const char *id = hes_csv_text(log->csv, log->job_id), *dot = strrchr(id, '.');
	const char *what = dot ? dot + 1 : "";
	const bool parent = dot && dot > id && strlen(log->last_id) == (size_t)(dot - id) &&
			    strncmp(log->last_id, id, (size_t)(dot - id)) == 0;
	bool step = dot && isdigit((unsigned char)*id) &&
		    (strcmp(what, "batch") == 0 || strcmp(what, "extern") == 0 ||
		     strcmp(what, "interactive") == 0);

	if (dot && *what && !what[strspn(what, "0123456789+")])
		step |= parent || strncasecmp(hes_csv_column_name(log->csv, (size_t)log->job_id),
					      "JobID", 5) == 0;
	if (!step)
		snprintf(log->last_id, sizeof(log->last_id), "%.*s", HES_NAME_MAX - 1, id);
	return step;
}

/* @return 1; 0 the row is skipped; negative errno */
static int read_gpus(struct log *log, struct hes_trace_row *out, struct hes_err *err)
{
	double gpus = 1, instances = 1, unit = log->unit[GPUS];
	int rc = 0;

	if (log_lacks(log, GPUS) || log_lacks(log, INSTANCES))
		return trace_skip(&log->base, HES_SKIP_GPUS);
	if (log->col[GPUS] >= 0)
		rc = read_number(log, GPUS, TRACE_MAX_GPUS, &gpus, err);
	if (log->col[GPUS] >= 0 && strchr(log_cell(log, GPUS), '%'))
		unit = 1e-2;
	if (!rc && log->col[INSTANCES] >= 0)
		rc = read_number(log, INSTANCES, TRACE_MAX_GPUS, &instances, err);
	if (rc)
		return rc;
	gpus *= instances * unit;
	if (gpus > TRACE_MAX_GPUS)
		return hes_csv_fail(log->csv, err, -ERANGE, "%s: %g GPUs are more than %g",
				    hes_csv_column_name(log->csv, (size_t)log->col[GPUS]), gpus,
				    TRACE_MAX_GPUS);
	/* 25 per cent of one are 250 thousandths, not 251. */
	out->gpu_milli = (uint32_t)ceil(gpus * 1000 - 1e-6);
	return out->gpu_milli ? 1 : trace_skip(&log->base, HES_SKIP_NO_GPU);
}

/* @return 1; 0 the row is skipped; negative errno */
static int read_start_to_end(struct log *log, struct hes_trace_row *out, struct hes_err *err)
{
	int64_t start, end;
	int rc;

	if (log_lacks(log, START) || log_lacks(log, END))
		return trace_skip(&log->base, HES_SKIP_RUNTIME);
	rc = read_moment(log, START, &start, err);
	if (!rc)
		rc = read_moment(log, END, &end, err);
	if (rc)
		return rc;
	if (end == start || end == 0)
		return trace_skip(&log->base, HES_SKIP_RUNTIME);
	if (end < start)
		return hes_csv_fail(
			log->csv, err, -ERANGE,
			"%s: %.40s is before %s, %.40s; if these are local times, name their zone: "
			"--timezone Europe/Berlin",
			hes_csv_column_name(log->csv, (size_t)log->col[END]), log_cell(log, END),
			hes_csv_column_name(log->csv, (size_t)log->col[START]),
			log_cell(log, START));
	out->runtime_us = end - start;
	return 1;
}

/* The scheduler's own run time before the difference of two times of day.
 * @return 1; 0 the row is skipped; negative errno */
static int read_runtime(struct log *log, struct hes_trace_row *out, struct hes_err *err)
{
	struct hes_err why;
	int rc;

	if (log->col[RUNTIME] >= 0 && !log_lacks(log, RUNTIME)) {
		rc = cell_duration(log_cell(log, RUNTIME), log->comma, log->unit[RUNTIME],
				   &out->runtime_us, &why);
		if (rc)
			return cell_fail(log, RUNTIME, rc, &why, err);
		return out->runtime_us > 0 ? 1 : trace_skip(&log->base, HES_SKIP_RUNTIME);
	}
	if (log->col[START] >= 0)
		return read_start_to_end(log, out, err);
	return out->iterations ? 1 : trace_skip(&log->base, HES_SKIP_RUNTIME);
}

/* @return 1; 0 the row is skipped; negative errno */
static int read_iterations(struct log *log, struct hes_trace_row *out, struct hes_err *err)
{
	double n;
	int rc;

	if (log->col[ITERATIONS] < 0 || log_lacks(log, ITERATIONS))
		return 1;
	rc = read_number(log, ITERATIONS, (double)HES_MAX_ITERATIONS, &n, err);
	out->iterations = rc ? 0 : (uint64_t)n;
	return rc ? rc : 1;
}

/* Models of logs under the names of HeShare's Table IV. */
static const struct {
	const char *model, *workload;
} models[] = {
	{ "bert", "bert-large" },    { "mobilenet", "mobilenetv2" },
	{ "resnet", "resnet50" },    { "ResNet-18", "resnet18" },
	{ "ResNet-50", "resnet50" }, { "Transformer", "transformer" },
};

/* "resnet_train128" of MISO and "ResNet-18 (batch size 128)" of Gavel are model and batch size.
 * @return whether @text is one of these */
static bool read_model(const char *text, struct hes_trace_row *out)
{
	static const char *const between[] = { "_train", " (batch size " };

	for (size_t i = 0; i < sizeof(between) / sizeof(between[0]); i++) {
		const char *at = strstr(text, between[i]), *number;
		char *end;
		long size;

		if (!at || at - text >= HES_NAME_MAX)
			continue;
		number = at + strlen(between[i]);
		size = strtol(number, &end, 10);
		if (end == number || size < 1 || size > HES_MAX_BATCH_SIZE ||
		    (*end && strcmp(end, ")") != 0))
			continue;
		out->batch_size = (uint32_t)size;
		snprintf(out->workload, sizeof(out->workload), "%.*s", (int)(at - text), text);
		for (size_t k = 0; k < sizeof(models) / sizeof(models[0]); k++)
			if (strcmp(models[k].model, out->workload) == 0)
				strcpy(out->workload, models[k].workload);
		return true;
	}
	return false;
}

static int read_name(const struct log *log, enum field f, char *out, struct hes_err *err)
{
	struct hes_err why;
	int rc = hes_check_name("", log_cell(log, f), HES_NAME_MAX - 1, &why);

	if (rc)
		return hes_csv_fail(log->csv, err, -EINVAL, "%s%s",
				    hes_csv_column_name(log->csv, (size_t)log->col[f]), why.msg);
	strcpy(out, log_cell(log, f));
	return 0;
}

static int read_names(const struct log *log, struct hes_trace_row *out, struct hes_err *err)
{
	double size;
	int rc = log->col[ID] >= 0 ? read_name(log, ID, out->id, err) : 0;

	/* A name that is too long is of no workload. */
	if (!rc && log->col[WORKLOAD] >= 0 && !log_lacks(log, WORKLOAD) &&
	    !read_model(log_cell(log, WORKLOAD), out) &&
	    strlen(log_cell(log, WORKLOAD)) < HES_NAME_MAX)
		rc = read_name(log, WORKLOAD, out->workload, err);
	if (rc || log->col[BATCH_SIZE] < 0 || log_lacks(log, BATCH_SIZE))
		return rc;
	rc = read_number(log, BATCH_SIZE, HES_MAX_BATCH_SIZE, &size, err);
	if (!rc && (size < 1 || size != floor(size)))
		rc = hes_csv_fail(log->csv, err, -ERANGE,
				  "%s: %.64s is no whole number from 1 to %d",
				  hes_csv_column_name(log->csv, (size_t)log->col[BATCH_SIZE]),
				  log_cell(log, BATCH_SIZE), HES_MAX_BATCH_SIZE);
	out->batch_size = rc ? 0 : (uint32_t)size;
	return rc;
}

/* @return 1; 0 the row is skipped; negative errno */
static int log_row(struct log *log, struct hes_trace_row *out, struct hes_err *err)
{
	int rc;

	if (log->job_id >= 0 && is_step(log))
		return trace_skip(&log->base, HES_SKIP_STEP);
	if (log->job_id >= 0 && strstr(log->last_id, "_["))
		return trace_skip(&log->base, HES_SKIP_RUNTIME);
	if ((rc = read_gpus(log, out, err)) != 1 || (rc = read_iterations(log, out, err)) != 1 ||
	    (rc = read_runtime(log, out, err)) != 1)
		return rc;
	if (log_lacks(log, ARRIVAL))
		return trace_skip(&log->base, HES_SKIP_ARRIVAL);
	rc = log->col[ARRIVAL] >= 0 ? read_moment(log, ARRIVAL, &out->arrival_us, err) : 0;
	if (!rc)
		rc = read_names(log, out, err);
	return rc ? rc : 1;
}

/* @return 1; 0 end of file; negative errno */
static int log_next_row(struct log *log, struct hes_trace_row *out, struct hes_err *err)
{
	struct hes_trace_row row;
	int rc;

	while ((rc = hes_csv_next(log->csv, err)) == 1) {
		row = (struct hes_trace_row){ 0 };
		rc = log_row(log, &row, err);
		if (rc == 1)
			*out = row;
		if (rc)
			break;
	}
	return rc;
}

/* Slurm's "102+1" is a component of job 102. @return length of the job's id; 0: it is none */
static int component_length(const struct log *log)
{
	const char *plus = log->job_id >= 0 ? strchr(log->last_id, '+') : NULL;

	return plus && isdigit((unsigned char)*log->last_id) && plus[1] &&
			       !plus[1 + strspn(plus + 1, "0123456789")]
		       ? (int)(plus - log->last_id)
		       : 0;
}

/* The components of a job run together: they are one job on the GPUs of all. */
static int log_next(struct hes_trace *t, struct hes_trace_row *out, struct hes_err *err)
{
	struct log *log = (struct log *)t;
	struct hes_trace_row row, before;
	int rc, length;

	while ((rc = log_next_row(log, &row, err)) == 1) {
		const bool holds = *log->held_id;

		length = component_length(log);
		if (!holds && !length)
			break;
		if (length && strlen(log->held_id) == (size_t)length &&
		    strncmp(log->held_id, log->last_id, (size_t)length) == 0) {
			log->held.gpu_milli += row.gpu_milli;
			trace_skip(t, HES_SKIP_STEP);
			continue;
		}
		before = log->held;
		log->held = row;
		snprintf(log->held_id, sizeof(log->held_id), "%.*s",
			 length ? length : HES_NAME_MAX - 1, length ? log->last_id : "+");
		if (!holds)
			continue;
		row = before;
		break;
	}
	if (rc == 0 && *log->held_id) {
		row = log->held;
		*log->held_id = '\0';
		rc = 1;
	}
	if (rc == 1)
		*out = row;
	return rc;
}

static void log_close(struct hes_trace *t)
{
	hes_csv_close(((struct log *)t)->csv);
	free(t);
}

int log_open(struct hes_csv *c, const char *format, const char *const *items,
	     struct hes_trace **out, struct hes_err *err)
{
	struct log *log = calloc(1, sizeof(*log));
	int rc;

	if (!log) {
		rc = hes_fail(err, -ENOMEM, "%s: out of memory", hes_csv_path(c));
		hes_csv_close(c);
		return rc;
	}
	log->csv = c;
	log->comma = hes_csv_separator(c) == ';';
	for (int f = 0; f < N_FIELDS; f++)
		log->has_unit[f] = hes_trace_format_find(format, NULL) != NULL;
	rc = log_bind(log, items, err);
	if (rc) {
		log_close(&log->base);
		return rc;
	}
	log->base = (struct hes_trace){
		.format = format,
		.name = hes_csv_path(c),
		.no_arrivals = log->col[ARRIVAL] < 0,
		.no_runtimes = log->col[RUNTIME] < 0 && log->col[START] < 0,
		.next = log_next,
		.close = log_close,
	};
	*out = &log->base;
	return 0;
}
