/*
 * csv.h - CSV files with one header row, plain or .gz, read row by row.
 *
 * RFC 4180 quoting. Fields are found by column name, so that the order of
 * columns is free and further columns are ignored. In a file with one column a row
 * that is not quoted as a whole is the field, commas and quotes included. Every error names
 * file, line, column and value. Memory is one row, whatever the file's length.
 */
#ifndef HES_BASE_CSV_H
#define HES_BASE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "heshare/err.h"

#define HES_CSV_MAX_COLUMNS 1024
#define HES_CSV_MAX_ROW     65536 /* bytes of one row */
#define HES_CSV_MAX_BYTES \
	((uint64_t)4 << 30)      /* of a file, unpacked, unless hes_csv_bound says otherwise */
#define HES_CSV_MAX_BLANK 100000 /* lines without anything */

struct hes_csv;

/** Open @path and read its header. @return 0; -EEXIST a column is there twice; negative errno */
int hes_csv_open(const char *path, struct hes_csv **out, struct hes_err *err);
/**
 * Open a table that another program wrote. Its separator is the one of , ; | and tab that the first
 * row has most of. Blanks around fields do not count, and a row may end with a separator.
 */
int hes_csv_open_log(const char *path, struct hes_csv **out, struct hes_err *err);
/** The file has no header: its first row is data, and columns are called "column 1" and so on. */
void hes_csv_unname(struct hes_csv *c);
char hes_csv_separator(const struct hes_csv *c);
/** How many bytes the file may have, unpacked. */
void hes_csv_bound(struct hes_csv *c, uint64_t max_bytes);
void hes_csv_close(struct hes_csv *c);

/** Number of columns, and their names; owned by @c. */
size_t hes_csv_columns(const struct hes_csv *c);
const char *hes_csv_column_name(const struct hes_csv *c, size_t column);
/** @return the column's index; -ENOENT with a sentence that lists the columns there are */
int hes_csv_column(const struct hes_csv *c, const char *name, struct hes_err *err);
/** @return the column's index, or -1 when there is none */
int hes_csv_find(const struct hes_csv *c, const char *name);

/** @return 1 a row was read; 0 end of file; negative errno */
int hes_csv_next(struct hes_csv *c, struct hes_err *err);
/** Line of the current row, from 1. */
size_t hes_csv_line(const struct hes_csv *c);
const char *hes_csv_path(const struct hes_csv *c);

/** Text of a field, "" when the row is short; valid until the next row. */
const char *hes_csv_text(const struct hes_csv *c, int column);
int hes_csv_double(const struct hes_csv *c, int column, double min, double max, double *out,
		   struct hes_err *err);
int hes_csv_u32(const struct hes_csv *c, int column, uint32_t min, uint32_t max, uint32_t *out,
		struct hes_err *err);
/** "FILE:LINE: " before a sentence of the caller's own. Returns @code. */
int hes_csv_fail(const struct hes_csv *c, struct hes_err *err, int code, const char *fmt, ...)
	HES_PRINTF(4, 5);

/** Write one field, quoted where needed. */
void hes_csv_put(FILE *f, const char *text);

#endif
