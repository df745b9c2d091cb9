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
	JOURNAL_ATTEMPT_ENDED,
	JOURNAL_ATTEMPT_TOOK,
	JOURNAL_RESULT,
	JOURNAL_GPU_TOOK,
	JOURNAL_METER,
	JOURNAL_POWER,
	JOURNAL_STATEMENTS,
};

struct hes_journal {
	struct hes_store *store;
	sqlite3_stmt     *q[JOURNAL_STATEMENTS];
	bool              light; /* the transaction does not wait for the disk */
};

extern const char *const hes_run_job_state_names[]; /* by enum hes_run_job_state; ends with NULL */

#endif
