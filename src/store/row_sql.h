/*
 * row_sql.h - rows of profiles, samples and points in the database, by the tables of their files
 * (core/row.h).
 *
 * A row is stored as in its file, with reals of HES_PROFILE_DIGITS digits. Its key is a hash of its
 * CSV line: equal rows have equal keys, and a row that does not match its key is damaged.
 */
#ifndef HES_STORE_ROW_SQL_H
#define HES_STORE_ROW_SQL_H

#include "core/row.h"
#include "store/db.h"

#define HES_ROW_KEY_BYTES 16
#define HES_ROW_SQL_MAX   1024

/** "a,b,c" of the table's columns, each with @prefix before it ("s."). */
void hes_row_names(const struct hes_row_table *t, const char *prefix, char out[HES_ROW_SQL_MAX]);

/** Whether a profile or sample can have such values. @what names the row in the sentence. */
int hes_row_check(const struct hes_row_table *t, const void *row, const char *what,
		  struct hes_err *err);

/** Hash of the row's line of CSV: FNV-1a of 128 bits, most significant byte first. */
int hes_row_key(const struct hes_row_table *t, const void *row,
		unsigned char out[HES_ROW_KEY_BYTES], struct hes_err *err);

/** Bind the values to parameters from @first on. */
void hes_row_bind(sqlite3_stmt *q, int first, const struct hes_row_table *t, const void *row);

/**
 * The row of a statement whose column 0 is the key and whose next are hes_row_names.
 * @return 0; -EBADMSG values of wrong kind or range, or not those of the key
 */
int hes_row_read(const struct hes_store *s, sqlite3_stmt *q, const struct hes_row_table *t,
		 void *out, struct hes_err *err);

#endif
