/*
 * db.h - the open SQLite database: statements, transactions, errors. Private to src/store.
 */
#ifndef HES_STORE_DB_H
#define HES_STORE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "heshare/store.h"

struct hes_store {
	sqlite3 *db;
	char *path;
	int wait_ms;
	uint64_t steps; /* of the statement in hand, in SQLite's virtual machine */
	bool to_drop;   /* the open transaction has failed and could not be dropped yet */
};

/** Whether several machines may use a file system of this type (statfs), so that a write-ahead log
 * cannot be used. */
bool hes_store_is_remote(uint32_t type);

/** No statement takes more steps than suit the file; no text or row is longer than any of
 * heshare's. */
void hes_db_limit(struct hes_store *s);

/** Turn SQLite's latest error into a sentence. @return negative errno */
int hes_db_fail(const struct hes_store *s, struct hes_err *err);

/** Run statements that give no rows. */
int hes_db_exec(struct hes_store *s, const char *sql, struct hes_err *err);
/** The first column of the first row of a statement. */
int hes_db_number(struct hes_store *s, const char *sql, int64_t *out, struct hes_err *err);
/** @out is the caller's to finalize, NULL on failure; sqlite3_finalize takes NULL. */
int hes_db_prepare(struct hes_store *s, const char *sql, sqlite3_stmt **out, struct hes_err *err);
/** @return 1 a row; 0 no more; negative errno */
int hes_db_step(struct hes_store *s, sqlite3_stmt *q, struct hes_err *err);
/** Step a statement that gives no row and make it ready for the next values. */
int hes_db_run(struct hes_store *s, sqlite3_stmt *q, struct hes_err *err);

/** The only writer from here on, after waiting for others. @return 0; -ESTALE the file is no longer
 * there by its name; -errno */
int hes_db_begin(struct hes_store *s, struct hes_err *err);
/** Commit when @rc is 0, else leave everything as it was. @return @rc, or why the commit failed */
int hes_db_end(struct hes_store *s, int rc, struct hes_err *err);
/** Drop the open transaction, if there is one. When that fails it is tried again before the next
 * statement. */
int hes_db_drop(struct hes_store *s, struct hes_err *err);

/** Text of a column cut to @size, "" for NULL. */
void hes_db_text(sqlite3_stmt *q, int column, char *out, size_t size);

/**
 * Collect every row of @q, which is finalized.
 * @param row  fills one element of @size bytes, zeroed; may be refused by a negative errno
 */
int hes_db_collect(struct hes_store *s, sqlite3_stmt *q, size_t size,
		   int (*row)(struct hes_store *s, sqlite3_stmt *q, void *out, struct hes_err *err),
		   void **out, size_t *out_n, struct hes_err *err);

#endif
