/*
 * formats.c - read logs by the table of formats (log_formats.c); see trace.h.
 *
 * A format is recognised by its columns, in any order.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "trace/source.h"

#define MAX_COLUMNS 8

struct log {
	struct hes_trace base;
	const struct hes_trace_format *format;
	struct hes_csv *csv;
	int col[MAX_COLUMNS];
};

const struct hes_trace_format *hes_trace_format_find(const char *name, struct hes_err *err)
{
	char have[256] = "";
	size_t at = 0;

	for (size_t i = 0; hes_trace_formats[i]; i++)
		if (strcmp(hes_trace_formats[i]->name, name) == 0)
			return hes_trace_formats[i];
	for (size_t i = 0; hes_trace_formats[i] && at < sizeof(have); i++)
		at += (size_t)snprintf(have + at, sizeof(have) - at, "%s%s", i ? ", " : "",
				       hes_trace_formats[i]->name);
	hes_fail(err, -ENOENT, "unknown trace format \"%.64s\"; known: %s", name, have);
	return NULL;
}

static int log_next(struct hes_trace *t, struct hes_trace_row *out, struct hes_err *err)
{
	struct log *log = (struct log *)t;
	struct hes_trace_row row;
	int rc;

	while ((rc = hes_csv_next(log->csv, err)) == 1) {
		row = (struct hes_trace_row){ 0 };
		rc = log->format->parse(log->csv, log->col, &row, err);
		if (rc == 1)
			*out = row;
		if (rc)
			break;
		t->skipped++;
	}
	return rc;
}

static void log_close(struct hes_trace *t)
{
	hes_csv_close(((struct log *)t)->csv);
	free(t);
}

static const struct hes_trace_format *recognise(const struct hes_csv *c, struct hes_err *err)
{
	char have[160] = "", known[256] = "";
	size_t at = 0;

	for (size_t i = 0; hes_trace_formats[i]; i++) {
		const char *const *name = hes_trace_formats[i]->columns;

		while (*name && hes_csv_find(c, *name) >= 0)
			name++;
		if (!*name)
			return hes_trace_formats[i];
	}
	for (size_t i = 0; i < hes_csv_columns(c) && at < sizeof(have); i++)
		at += (size_t)snprintf(have + at, sizeof(have) - at, "%s%.32s", i ? ", " : "",
				       hes_csv_column_name(c, i));
	at = 0;
	for (size_t i = 0; hes_trace_formats[i] && at < sizeof(known); i++) {
		at += (size_t)snprintf(known + at, sizeof(known) - at, "%s%s (", i ? ", " : "",
				       hes_trace_formats[i]->name);
		for (const char *const *name = hes_trace_formats[i]->columns;
		     *name && at < sizeof(known); name++)
			at += (size_t)snprintf(known + at, sizeof(known) - at, "%s%s", *name,
					       name[1] ? " " : ")");
	}
	hes_fail(err, -ENOENT, "%.100s:1: no known trace has the columns %s; known: %s",
		 hes_csv_path(c), have, known);
	return NULL;
}

static int bind(struct log *log, const struct hes_trace_format *f, struct hes_err *err)
{
	if (!f)
		f = recognise(log->csv, err);
	if (!f)
		return -ENOENT;
	for (size_t i = 0; f->columns[i]; i++) {
		log->col[i] = hes_csv_column(log->csv, f->columns[i], err);
		if (log->col[i] < 0)
			return log->col[i];
	}
	log->format = f;
	log->base = (struct hes_trace){
		.format = f->name,
		.name = hes_csv_path(log->csv),
		.no_arrivals = f->no_arrivals,
		.next = log_next,
		.close = log_close,
	};
	return 0;
}

int hes_trace_open(const char *path, const struct hes_trace_format *f, struct hes_trace **out,
		   struct hes_err *err)
{
	struct log *log = calloc(1, sizeof(*log));
	int rc;

	if (!log)
		return hes_fail(err, -ENOMEM, "%s: out of memory", path);
	rc = hes_csv_open(path, &log->csv, err);
	if (!rc)
		rc = bind(log, f, err);
	if (rc)
		log_close(&log->base);
	else
		*out = &log->base;
	return rc;
}

int hes_trace_next(struct hes_trace *t, struct hes_trace_row *out, struct hes_err *err)
{
	return t->next(t, out, err);
}

const char *hes_trace_name(const struct hes_trace *t)
{
	return t->name;
}

const char *hes_trace_format_name(const struct hes_trace *t)
{
	return t->format;
}

uint64_t hes_trace_skipped(const struct hes_trace *t)
{
	return t->skipped;
}

void hes_trace_close(struct hes_trace *t)
{
	if (t)
		t->close(t);
}
