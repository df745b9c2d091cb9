/*
 * row.c - read, check and write rows; see row.h.
 */
#include "core/row.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/utf8.h"
#include "heshare/profile.h"

#define MAX_ROWS 10000000

/* A column of a file from before 0.1.0 by its name there. @return -1: none */
static int find_older(const struct hes_csv *csv, const char *name)
{
	static const char prefix[] = "co_runner_";
	const char *rest;
	char older[64];

	if (strcmp(name, "co_runners") == 0)
		return hes_csv_find(csv, "beside");
	if (strncmp(name, prefix, strlen(prefix)) != 0)
		return -1;
	rest = name + strlen(prefix);
	if (strcmp(rest, "count") == 0)
		rest = "residents";
	else if (strcmp(rest, "relative_rate") == 0)
		rest = "pace";
	snprintf(older, sizeof(older), "beside_%s", rest);
	return hes_csv_find(csv, older);
}

/* A name, which is needed, or a line, which may be empty. */
static int read_text(const struct hes_csv *csv, int at, const struct hes_row_column *c, char *out,
		     struct hes_err *err)
{
	const char *text = hes_csv_text(csv, at);
	struct hes_err why;
	int rc = hes_row_check_text(c, text, &why);

	if (rc)
		return hes_csv_fail(csv, err, rc, "%s", why.msg);
	strcpy(out, text);
	return 0;
}

static int read_maybe(const struct hes_csv *csv, int at, const struct hes_row_column *c,
		      double *out, struct hes_err *err)
{
	if (at >= 0 && *hes_csv_text(csv, at))
		return hes_csv_double(csv, at, c->min, c->max, out, err);
	*out = NAN;
	return 0;
}

static int read_row(const struct hes_row_table *t, const struct hes_csv *csv, const int *at,
		    char *row, struct hes_err *err)
{
	int rc = 0;

	memset(row, 0, t->row_size);
	for (size_t i = 0; i < t->n_columns && !rc; i++) {
		const struct hes_row_column *c = &t->columns[i];
		void *slot = row + c->offset;

		if (c->kind == HES_ROW_MAYBE)
			rc = read_maybe(csv, at[i], c, slot, err);
		if (at[i] < 0 || c->kind == HES_ROW_MAYBE)
			continue;
		if (c->kind == HES_ROW_TEXT || c->kind == HES_ROW_LINE)
			rc = read_text(csv, at[i], c, slot, err);
		else if (c->kind == HES_ROW_U32)
			rc = hes_csv_u32(csv, at[i], (uint32_t)c->min, (uint32_t)c->max, slot, err);
		else
			rc = hes_csv_double(csv, at[i], c->min, c->max, slot, err);
	}
	return rc;
}

/* All rows of an open file; *rows is the caller's to free even on failure. */
static int read_rows(const struct hes_row_table *t, struct hes_csv *csv, char **rows, size_t *n,
		     struct hes_err *err)
{
	int at[HES_ROW_MAX_COLUMNS], rc;
	char *more;

	for (size_t i = 0; i < t->n_columns; i++) {
		const struct hes_row_column *c = &t->columns[i];

		at[i] = hes_csv_find(csv, c->name);
		if (at[i] < 0)
			at[i] = find_older(csv, c->name);
		if (at[i] < 0 && !c->presence)
			return hes_csv_column(csv, c->name, err);
	}
	while ((rc = hes_csv_next(csv, err)) > 0) {
		if (*n == MAX_ROWS)
			return hes_csv_fail(csv, err, -E2BIG, "more than %d rows", MAX_ROWS);
		more = hes_grow(*rows, *n, t->row_size);
		if (!more)
			return hes_csv_fail(csv, err, -ENOMEM, "out of memory for %zu rows", *n);
		*rows = more;
		rc = read_row(t, csv, at, *rows + *n * t->row_size, err);
		if (rc)
			return rc;
		++*n;
	}
	return rc;
}

int hes_rows_load(const struct hes_row_table *t, const char *path, void **out, size_t *out_n,
		  struct hes_err *err)
{
	struct hes_csv *csv;
	char *rows = NULL;
	size_t n = 0;
	int rc = hes_csv_open(path, &csv, err);

	if (rc)
		return rc;
	rc = read_rows(t, csv, &rows, &n, err);
	if (!rc && n == 0)
		rc = hes_fail(err, -ENODATA, "%s: no %s below the header", path, t->what);
	hes_csv_close(csv);
	if (rc) {
		free(rows);
		return rc;
	}
	*out = rows;
	*out_n = n;
	return 0;
}

int hes_row_check_text(const struct hes_row_column *c, const char *text, struct hes_err *err)
{
	const bool line = c->kind == HES_ROW_LINE;

	return line && !*text ? 0
			      : hes_check_name(c->name, text,
					       line ? (size_t)c->max : HES_NAME_MAX - 1, err);
}

static bool is_unknown(const struct hes_row_column *c, const void *slot)
{
	const double x = c->kind == HES_ROW_LINE ? *(const char *)slot : *(const double *)slot;

	return c->kind == HES_ROW_MAYBE ? isnan(x) : !(x < 0 || x > 0);
}

void hes_row_put(FILE *f, const struct hes_row_table *t, bool later, const void *row)
{
	for (size_t i = 0; i < t->n_columns; i++) {
		const struct hes_row_column *c = &t->columns[i];
		const void *slot = (const char *)row + c->offset;

		if (c->presence == HES_ROW_LATER && !later && is_unknown(c, slot))
			continue;
		if (i)
			fputc(',', f);
		if (c->presence == HES_ROW_LATER && !later)
			fprintf(f, "%s=", c->name);
		if (c->kind == HES_ROW_TEXT || c->kind == HES_ROW_LINE)
			hes_csv_put(f, slot);
		else if (c->kind == HES_ROW_U32)
			fprintf(f, "%u", *(const uint32_t *)slot);
		else if (c->kind == HES_ROW_REAL || !isnan(*(const double *)slot))
			fprintf(f, "%.*g", HES_PROFILE_DIGITS,
				*(const double *)slot + 0.0); /* -0 is 0 */
	}
	fputc('\n', f);
}

int hes_rows_save(const struct hes_row_table *t, const char *path, const void *rows, size_t n,
		  struct hes_err *err)
{
	struct hes_file out;
	int rc = hes_file_create(&out, path, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < t->n_columns; i++)
		fprintf(out.f, "%s%s", i ? "," : "", t->columns[i].name);
	fputc('\n', out.f);
	for (size_t i = 0; i < n; i++)
		hes_row_put(out.f, t, true, (const char *)rows + i * t->row_size);
	return hes_file_commit(&out, err);
}
