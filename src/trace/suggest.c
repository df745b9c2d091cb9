/*
 * suggest.c - an example of --columns for a log of unknown format, made of its own columns.
 *
 * By the names of columns; where these say nothing, by the values of the first row.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/texts.h"
#include "trace/cells.h"
#include "trace/source.h"

#define MAX_EXAMPLE_NAME 40

/* Names without blanks, "_" and "-", in lower case; the first that a log has is taken. */
static const char *const arrivals[] = {
	"submit",    "submittime",  "submittedtime", "submitted", "arrival",   "arrivaltime",
	"arrivals",  "arrivaldate", "creationtime",  "created",   "createdat", "queued",
	"queuetime", "timestamp",   "time",          NULL
};
static const char *const runtimes[] = { "elapsed",   "elapsedraw",  "elapsedtime", "duration",
					"durations", "runtime",     "runtimes",    "walltime",
					"wallclock", "servicetime", "services",    "seconds",
					"secs",      NULL };
static const char *const starts[] = { "start",         "starttime", "started",   "startedat",
				      "scheduledtime", "begin",     "begintime", NULL };
static const char *const ends[] = { "end",          "endtime",    "ended",     "finished",
				    "finishtime",   "finish",     "completed", "completiontime",
				    "deletiontime", "finishedat", NULL };
static const char *const gpus[] = { "alloctres", "numgpus",    "numgpu",   "ngpus",
				    "ngpu",      "gpunum",     "gpus",     "gpu",
				    "gpucount",  "gpurequest", "reqtres",  "allocgres",
				    "reqgres",   "plangpu",    "gpumilli", NULL };

static bool same_name(const char *name, const char *plain)
{
	for (; *name; name++) {
		if (strchr(" _-", *name))
			continue;
		if (tolower((unsigned char)*name) != *plain++)
			return false;
	}
	return !*plain;
}

static int column_by_names(const struct hes_csv *c, const char *const *names)
{
	for (; *names; names++)
		for (size_t i = 0; i < hes_csv_columns(c); i++)
			if (same_name(hes_csv_column_name(c, i), *names))
				return (int)i;
	return -1;
}

static bool is_moment(const char *text, int64_t *out_us)
{
	return !cell_is_missing(text) && cell_moment(text, false, 1e6, false, out_us, NULL) >= 0;
}

/* Two columns side by side that look like start and end; else the first run time. */
static void columns_by_values(const struct hes_csv *c, int *start, int *runtime)
{
	const int64_t large = INT64_C(100000000000); /* 10^5 s: less is no moment */
	int64_t us, next;

	for (int i = 0; i + 1 < (int)hes_csv_columns(c) && *start < 0; i++)
		if (is_moment(hes_csv_text(c, i), &us) && us > large &&
		    is_moment(hes_csv_text(c, i + 1), &next) && next > us)
			*start = i;
	for (int i = 0; i < (int)hes_csv_columns(c) && *start < 0 && *runtime < 0; i++)
		if (!cell_is_missing(hes_csv_text(c, i)) &&
		    cell_duration(hes_csv_text(c, i), false, 1e6, &us, NULL) == 0 && us > 0)
			*runtime = i;
}

static void add_item(const struct hes_csv *c, const char *field, int column, const char *unit,
		     char *text, size_t size)
{
	const char *name = column >= 0 ? hes_csv_column_name(c, (size_t)column) : "COLUMN";
	char number[16];

	/* A number stands for a name that cannot be typed, or that is none. */
	snprintf(number, sizeof(number), "%d", column + 1);
	if (column >= 0 && (!*name || strlen(name) > MAX_EXAMPLE_NAME ||
			    name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					      "0123456789_.-")]))
		name = number;
	hes_text_add(text, size, ",", "%s=%s%s", field, name, unit);
}

void suggest_columns(struct hes_csv *c, char *text, size_t size)
{
	int start = column_by_names(c, starts), end = column_by_names(c, ends),
	    runtime = column_by_names(c, runtimes);
	const int arrival = column_by_names(c, arrivals), gpu = column_by_names(c, gpus);
	const char *unit = gpu < 0 ? "" : hes_csv_column_name(c, (size_t)gpu);

	text[0] = '\0';
	if (start < 0 || end < 0)
		start = -1;
	if (runtime < 0 && start < 0 && hes_csv_next(c, NULL) == 1) {
		columns_by_values(c, &start, &runtime);
		end = start + 1;
	}
	if (arrival >= 0)
		add_item(c, "arrival", arrival, "", text, size);
	if (runtime >= 0 || start < 0) {
		add_item(c, "runtime", runtime, "", text, size);
	} else {
		add_item(c, "start", start, "", text, size);
		add_item(c, "end", end, "", text, size);
	}
	if (gpu >= 0)
		add_item(c, "gpus", gpu,
			 same_name(unit, "plangpu")    ? ":percent"
			 : same_name(unit, "gpumilli") ? ":milli"
						       : "",
			 text, size);
}
