/*
 * formats.c - open logs: a known one by its columns, or with columns that the user names; see
 * trace.h.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/texts.h"
#include "trace/source.h"

const char *const hes_trace_skip_words[HES_TRACE_SKIPS] = {
	[HES_SKIP_STEP] = "of steps of a job",        [HES_SKIP_NO_GPU] = "without a GPU",
	[HES_SKIP_GPUS] = "without a number of GPUs", [HES_SKIP_RUNTIME] = "without a run time",
	[HES_SKIP_ARRIVAL] = "without an arrival",
};

const char *const hes_trace_skip_keys[HES_TRACE_SKIPS] = {
	[HES_SKIP_STEP] = "step",
	[HES_SKIP_NO_GPU] = "without_gpu",
	[HES_SKIP_GPUS] = "gpus_missing",
	[HES_SKIP_RUNTIME] = "without_runtime",
	[HES_SKIP_ARRIVAL] = "without_arrival",
};

int trace_skip(struct hes_trace *t, enum hes_trace_skip why)
{
	t->skipped[why]++;
	return 0;
}

const struct hes_trace_format *hes_trace_format_find(const char *name, struct hes_err *err)
{
	char have[256] = "";

	for (size_t i = 0; hes_trace_formats[i]; i++)
		if (strcmp(hes_trace_formats[i]->name, name) == 0)
			return hes_trace_formats[i];
	for (size_t i = 0; hes_trace_formats[i]; i++)
		hes_text_add(have, sizeof(have), ", ", "%s", hes_trace_formats[i]->name);
	hes_fail(err, -ENOENT, "unknown trace format \"%.64s\"; known: %s", name, have);
	return NULL;
}

/* A header has names: no number, no date. */
static bool has_header(const struct hes_csv *c)
{
	for (size_t i = 0; i < hes_csv_columns(c); i++) {
		const char *name = hes_csv_column_name(c, i);
		char *end;

		strtod(name, &end);
		if (isdigit((unsigned char)*name) &&
		    (!*end || ((*end == ':' || *end == '-') && isdigit((unsigned char)end[1]))))
			return false;
	}
	return true;
}

/* The layout of @f that @c has. @param first  its first cell */
static const char *const *layout_find(const struct hes_trace_format *f, const struct hes_csv *c,
				      const char *first)
{
	for (size_t i = 0; i < HES_TRACE_LAYOUTS && f->layouts[i]; i++) {
		const char *const *items = f->layouts[i];
		const char *last = items[0];

		for (size_t k = 0; items[k]; k++)
			last = items[k];
		if (f->first) { /* the last item names the last column */
			if (strstr(first, f->first) &&
			    strtoul(strchr(last, '=') + 1, NULL, 10) == hes_csv_columns(c))
				return items;
		} else if (log_has(c, items)) {
			return items;
		}
	}
	return NULL;
}

static int unknown_log(struct hes_csv *c, bool header, struct hes_err *err)
{
	char have[160] = "", example[200] = "";

	if (hes_csv_columns(c) == 1)
		return hes_fail(err, -ENOENT,
				"%.100s:1: one column only; columns are separated by , ; | or tab "
				"(Slurm: sacct --parsable2)",
				hes_csv_path(c));
	for (size_t i = 0; header && i < hes_csv_columns(c); i++)
		hes_text_add(have, sizeof(have), ", ", "%.32s", hes_csv_column_name(c, i));
	suggest_columns(c, example, sizeof(example));
	if (!header)
		return hes_fail(err, -ENOENT,
				"%.100s:1: no header row, and no known log (--list); say which of "
				"the %zu columns are what, such as --columns %s",
				hes_csv_path(c), hes_csv_columns(c), example);
	return hes_fail(err, -ENOENT,
			"%.100s:1: no known log (--list) has the columns %s; say what they are, "
			"such as --columns %s",
			hes_csv_path(c), have, example);
}

/* A known log, recognised by its columns. Takes @c. */
static int known_open(struct hes_csv *c, const struct hes_trace_format *wanted,
		      struct hes_trace **out, struct hes_err *err)
{
	const bool header = has_header(c);
	char first[256];

	snprintf(first, sizeof(first), "%s", hes_csv_column_name(c, 0));
	if (!header)
		hes_csv_unname(c);
	for (size_t i = 0; hes_trace_formats[i]; i++) {
		const struct hes_trace_format *f = hes_trace_formats[i];
		const char *const *items = !wanted || wanted == f ? layout_find(f, c, first) : NULL;

		if (items)
			return log_open(c, f->name, items, out, err);
	}
	unknown_log(c, header, err);
	if (wanted)
		hes_fail_in(err, "format %s", wanted->name);
	hes_csv_close(c);
	return -ENOENT;
}

/* A regular file that begins with a bracket or brace. */
static bool is_json(const char *path)
{
	struct stat st;
	gzFile gz = !stat(path, &st) && S_ISREG(st.st_mode) ? gzopen(path, "re") : NULL;
	int ch;

	if (!gz)
		return false;
	do
		ch = gzgetc(gz);
	while (ch >= 0 && isspace(ch));
	gzclose(gz);
	return ch == '[' || ch == '{';
}

int hes_trace_open(const char *path, const struct hes_trace_format *f, struct hes_trace **out,
		   struct hes_err *err)
{
	struct hes_csv *c;
	int rc;

	if (is_json(path))
		return hes_fail(err, -EINVAL,
				"%s: JSON; a log is a table: a header row, then a row a job", path);
	rc = hes_csv_open_log(path, &c, err);
	return rc ? rc : known_open(c, f, out, err);
}

/* @text is cut at its commas. */
static int own_open(struct hes_csv *c, char *text, struct hes_trace **out, struct hes_err *err)
{
	const char *items[HES_CSV_MAX_COLUMNS + 1];
	char *item;
	size_t n = 0;

	while ((item = strsep(&text, ",")) && n < HES_CSV_MAX_COLUMNS)
		items[n++] = item;
	items[n] = NULL;
	if (!has_header(c))
		hes_csv_unname(c);
	return log_open(c, "own columns", items, out, err);
}

int hes_trace_open_columns(const char *path, const char *columns, struct hes_trace **out,
			   struct hes_err *err)
{
	char *text = strdup(columns);
	struct hes_csv *c;
	int rc = text ? hes_csv_open_log(path, &c, err)
		      : hes_fail(err, -ENOMEM, "--columns: out of memory");

	if (!rc)
		rc = own_open(c, text, out, err);
	free(text);
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

const uint64_t *hes_trace_skipped(const struct hes_trace *t)
{
	return t->skipped;
}

void hes_trace_use_local_time(struct hes_trace *t)
{
	t->local_times = true;
}

bool hes_trace_took_utc(const struct hes_trace *t)
{
	return t->unzoned && !t->local_times;
}

void hes_trace_close(struct hes_trace *t)
{
	if (t)
		t->close(t);
}
