/*
 * number_table.h - a table of numbers with named columns, read from any CSV file.
 *
 * What base/csv.h is to records of known columns, this is to measurements of
 * whatever columns a file has. An empty cell, NA or nan, in any case, is a
 * missing number: NaN in memory. Values fit a float, so that none becomes
 * infinite on the way to one. A table is row by row: row i is v + i * n_columns.
 */
#ifndef HES_NUMBER_TABLE_H
#define HES_NUMBER_TABLE_H

#include <stddef.h>

#include "base/csv.h"
#include "heshare/err.h"

#define HES_TABLE_MAX_ROWS   4000000
#define HES_TABLE_MAX_VALUES 400000000           /* rows times columns: 3.2 GB */
#define HES_TABLE_MAX_BYTES  ((uint64_t)8 << 30) /* of a file, unpacked: 20 a value */
#define HES_TABLE_NAME_MAX   64                  /* bytes of a column's name, 0 included */

struct hes_table {
	char (*names)[HES_TABLE_NAME_MAX]; /* of each column */
	size_t n_columns;
	double *v; /* finite, or NaN: missing */
	size_t n_rows;
};

struct hes_names {
	const char *const *v;
	size_t n;
};

/** What to read of a file. */
struct hes_table_wanted {
	struct hes_names columns;  /* these, in this order; none: all, in the file's order */
	struct hes_names ignored;  /* of all: not these, which need not be numbers */
	struct hes_names complete; /* no number of these may be missing; empty cells are refused */
};

/**
 * Read a table.
 * @param wanted  NULL: all columns
 * @return 0; -ENOENT a column that the file lacks; -EEXIST a wanted column twice; -EINVAL or
 * -ERANGE no number, or one missing where none may be, with file, line and column; -E2BIG; -errno
 */
int hes_table_load(const char *path, const struct hes_table_wanted *wanted, struct hes_table *out,
		   struct hes_err *err);
void hes_table_free(struct hes_table *t);

/** @return the column's index, or -1 when there is none */
int hes_table_find(const struct hes_table *t, const char *name);

#endif
