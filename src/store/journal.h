/*
 * journal.h - the open journal. Private to src/store.
 */
#ifndef HES_STORE_JOURNAL_H
#define HES_STORE_JOURNAL_H

#include "heshare/journal.h"
#include "store/db.h"

enum journal_statement {
	JOURNAL_ACT,
	JOURNAL_ATTEMPT,
	JOURNAL_ATTEMPT_RUNS,
	JOURNAL_ATTEMPT_CLOCK,
	JOURNAL_ATTEMPT_ENDED,
	JOURNAL_ATTEMPT_HELD,
	JOURNAL_NEVER_HOLD,
	JOURNAL_ATTEMPT_TOOK,
	JOURNAL_COPY_ATTEMPT,
	JOURNAL_RESULT,
	JOURNAL_GPU_TOOK,
	JOURNAL_METER,
	JOURNAL_POWER,
	JOURNAL_LEARNING,
	JOURNAL_STATEMENTS,
};

struct hes_journal {
	struct hes_store *store;
	sqlite3_stmt *q[JOURNAL_STATEMENTS];
	bool light; /* the transaction does not wait for the disk */
};

/** Rows of a statement whose one parameter is a number; free() @out, a pointer to an array of what
 * @row fills. */
int hes_journal_collect(struct hes_journal *j, const char *sql, int64_t key, size_t size,
			int (*row)(struct hes_store *s, sqlite3_stmt *q, void *out,
				   struct hes_err *err),
			void *out, size_t *out_n, struct hes_err *err);

/** A text that lives until the statement has run; NULL: none. */
static inline void journal_bind(sqlite3_stmt *q, int i, const char *text)
{
	sqlite3_bind_text(q, i, text, -1, SQLITE_STATIC);
}

/** Bind what is known of an attempt before its start, parameters 1 to 7. */
void journal_bind_attempt(sqlite3_stmt *q, int64_t run, const struct hes_attempt *a);
/** Bind a number; NULL unless it is @known. */
static inline void journal_bind_maybe(sqlite3_stmt *q, int i, bool known, int64_t number)
{
	if (known)
		sqlite3_bind_int64(q, i, number);
	else
		sqlite3_bind_null(q, i);
}

/** @param again  a GPU of the run that is there gets this type and UUID */
int journal_add_gpus(struct hes_store *s, int64_t run, const struct hes_run_gpu *v, size_t n,
		     bool again, struct hes_err *err);

#endif
