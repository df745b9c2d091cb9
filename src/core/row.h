/*
 * row.h - rows of a struct as CSV, described by a table of columns: name, offset and range.
 *
 * The files and the store use the same tables.
 */
#ifndef HES_CORE_ROW_H
#define HES_CORE_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "heshare/err.h"

#define HES_ROW_MAX_COLUMNS 40
#define HES_ROW_MAX_TEXT    4608 /* bytes of one row as CSV: quoted names and lines, and numbers */

enum hes_row_kind {
	HES_ROW_TEXT, /* char[HES_NAME_MAX] */
	HES_ROW_U32,
	HES_ROW_REAL,  /* double, HES_PROFILE_DIGITS significant digits in files */
	HES_ROW_MAYBE, /* the same; NaN where it is missing, an empty cell */
	HES_ROW_LINE,  /* char[max + 1] of printable text, may be empty */
};

enum hes_row_presence {
	HES_ROW_NEEDED,
	HES_ROW_OPTIONAL, /* 0 or "", which stands for unknown, where a file has no such column */
	HES_ROW_LATER,    /* the same, and earlier stores have no column for it: where it is unknown
			     it is no part of the row's key */
};

struct hes_row_column {
	const char *name;
	enum hes_row_kind kind;
	size_t offset;
	double min, max; /* of a number; max of a line: its bytes */
	enum hes_row_presence presence;
};

struct hes_row_table {
	const char *what; /* "profiles" */
	const struct hes_row_column *columns;
	size_t n_columns;
	size_t row_size;
};

extern const struct hes_row_table hes_profile_table; /* struct hes_profile */
extern const struct hes_row_table hes_sample_table;  /* struct hes_sample */
extern const struct hes_row_table hes_point_table;   /* struct hes_point */

/**
 * Every row of a file.
 * @param out  one block of rows; free() it
 * @return 0; -EINVAL, -ERANGE with file, line, field and value; -ENODATA no row
 */
int hes_rows_load(const struct hes_row_table *t, const char *path, void **out, size_t *out_n,
		  struct hes_err *err);
int hes_rows_save(const struct hes_row_table *t, const char *path, const void *rows, size_t n,
		  struct hes_err *err);
/** Whether a name or line can be that of a column. @return 0; -EINVAL, -ERANGE */
int hes_row_check_text(const struct hes_row_column *c, const char *text, struct hes_err *err);
/** One row and its newline, as hes_rows_save writes it; without @later, its known later columns
 * follow by name, and the unknown ones are left out. */
void hes_row_put(FILE *f, const struct hes_row_table *t, bool later, const void *row);

#endif
