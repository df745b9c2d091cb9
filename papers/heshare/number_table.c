/*
 * number_table.c - read a table of numbers from CSV; see number_table.h.
 */
#include "number_table.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A column of the file that the table takes. */
struct source {
	int column;
	bool complete;
};

struct reader {
	struct hes_csv *csv;
	struct source *from; /* of each column of the table */
	size_t room;         /* rows that t.v has room for */
	struct hes_table t;
};

static bool holds(const struct hes_names *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++)
		if (strcmp(names->v[i], name) == 0)
			return true;
	return false;
}

/* Every name is a column of the file, and of one only. */
static int check_names(const struct hes_csv *c, const struct hes_names *names, struct hes_err *err)
{
	for (size_t i = 0; i < names->n; i++) {
		int column = hes_csv_column(c, names->v[i], err);

		if (column < 0)
			return column;
	}
	return 0;
}

/* The next column of the table is the file's column @column. */
static int take(struct reader *r, int column, const struct hes_names *complete, struct hes_err *err)
{
	const char *name = hes_csv_column_name(r->csv, (size_t)column);

	if (!name[0])
		return hes_fail(err, -EINVAL, "%s:1: column %d has no name", hes_csv_path(r->csv),
				column + 1);
	if (strlen(name) >= HES_TABLE_NAME_MAX)
		return hes_fail(err, -E2BIG,
				"%s:1: column \"%.70s\": its name is longer than %d bytes",
				hes_csv_path(r->csv), name, HES_TABLE_NAME_MAX - 1);
	if (hes_table_find(&r->t, name) >= 0)
		return hes_fail(err, -EEXIST, "%s:1: column \"%s\" is there twice",
				hes_csv_path(r->csv), name);
	r->from[r->t.n_columns] = (struct source){ column, holds(complete, name) };
	strcpy(r->t.names[r->t.n_columns++], name);
	return 0;
}

static int choose(struct reader *r, const struct hes_table_wanted *w, struct hes_err *err)
{
	size_t n = w->columns.n ? w->columns.n : hes_csv_columns(r->csv);
	int rc = check_names(r->csv, &w->columns, err);

	if (!rc)
		rc = check_names(r->csv, &w->ignored, err);
	if (!rc)
		rc = check_names(r->csv, &w->complete, err);
	if (rc)
		return rc;
	r->from = calloc(n, sizeof(*r->from));
	r->t.names = calloc(n, sizeof(*r->t.names));
	if (!r->from || !r->t.names)
		return hes_fail(err, -ENOMEM, "%s: out of memory for %zu columns",
				hes_csv_path(r->csv), n);
	for (size_t i = 0; i < n && !rc; i++) {
		int column = w->columns.n ? hes_csv_find(r->csv, w->columns.v[i]) : (int)i;

		if (w->columns.n || !holds(&w->ignored, hes_csv_column_name(r->csv, i)))
			rc = take(r, column, &w->complete, err);
	}
	if (!rc && !r->t.n_columns)
		rc = hes_fail(err, -EINVAL, "%s:1: no column is left to read",
			      hes_csv_path(r->csv));
	return rc;
}

static bool is_missing(const char *text)
{
	static const char blank[] = " \t";

	text += strspn(text, blank);
	return !*text || strcasecmp(text, "na") == 0 || strcasecmp(text, "nan") == 0;
}

static int read_cell(const struct reader *r, size_t i, double *out, struct hes_err *err)
{
	const struct source *s = &r->from[i];
	const char *text = hes_csv_text(r->csv, s->column);

	if (!is_missing(text))
		return hes_csv_double(r->csv, s->column, -(double)FLT_MAX, (double)FLT_MAX, out,
				      err);
	if (s->complete)
		return hes_csv_fail(r->csv, err, -EINVAL,
				    "%s: \"%.8s\" is a missing value; here a number is needed",
				    r->t.names[i], text);
	*out = (double)NAN;
	return 0;
}

/* Room for one row more. */
static int make_room(struct reader *r, struct hes_err *err)
{
	size_t room = r->room ? 2 * r->room : 256;
	double *v;

	if (r->t.n_rows < r->room)
		return 0;
	if (r->t.n_rows >= HES_TABLE_MAX_ROWS ||
	    r->t.n_rows >= HES_TABLE_MAX_VALUES / r->t.n_columns)
		return hes_csv_fail(r->csv, err, -E2BIG, "more than %d rows or %d values",
				    HES_TABLE_MAX_ROWS, HES_TABLE_MAX_VALUES);
	v = reallocarray(r->t.v, room, r->t.n_columns * sizeof(*v));
	if (!v)
		return hes_csv_fail(r->csv, err, -ENOMEM, "out of memory for %zu rows", room);
	r->t.v = v;
	r->room = room;
	return 0;
}

static int read_rows(struct reader *r, struct hes_err *err)
{
	int rc;

	while ((rc = hes_csv_next(r->csv, err)) == 1) {
		rc = make_room(r, err);
		for (size_t i = 0; i < r->t.n_columns && !rc; i++)
			rc = read_cell(r, i, &r->t.v[r->t.n_rows * r->t.n_columns + i], err);
		if (rc)
			return rc;
		r->t.n_rows++;
	}
	return rc;
}

int hes_table_load(const char *path, const struct hes_table_wanted *wanted, struct hes_table *out,
		   struct hes_err *err)
{
	static const struct hes_table_wanted all = { 0 };
	struct reader r = { 0 };
	int rc = hes_csv_open(path, &r.csv, err);

	if (rc)
		return rc;
	hes_csv_bound(r.csv, HES_TABLE_MAX_BYTES);
	rc = choose(&r, wanted ? wanted : &all, err);
	if (!rc)
		rc = read_rows(&r, err);
	free(r.from);
	hes_csv_close(r.csv);
	if (rc)
		hes_table_free(&r.t);
	else
		*out = r.t;
	return rc;
}

void hes_table_free(struct hes_table *t)
{
	free(t->names);
	free(t->v);
	*t = (struct hes_table){ 0 };
}

int hes_table_find(const struct hes_table *t, const char *name)
{
	for (size_t i = 0; i < t->n_columns; i++)
		if (strcmp(t->names[i], name) == 0)
			return (int)i;
	return -1;
}
