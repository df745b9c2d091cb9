/*
 * journal_nodes.c - runs on several nodes: jobs that are placed again, results that come from the
 * nodes' journals; see heshare/journal.h.
 */
#include "store/journal.h"

int hes_journal_replan(struct hes_journal *j, int64_t run, const struct hes_run_gpu *gpus,
		       size_t n_gpus, const struct hes_run_job *jobs, size_t n_jobs,
		       struct hes_err *err)
{
	struct hes_store *s = j->store;
	sqlite3_stmt *q = NULL;
	int rc = journal_add_gpus(s, run, gpus, n_gpus, true, err);

	if (!rc)
		rc = hes_db_prepare(s,
				    "UPDATE run_jobs SET gpu = ?3, sm_pct = ?4, planned_start_us = "
				    "?5, planned_end_us = ?6, planned_mj = nullif(?7, 0),"
				    " state = 'waiting', start_us = NULL, end_us = NULL, energy_mj "
				    "= NULL WHERE run_id = ?1 AND job = ?2",
				    &q, err);
	for (size_t i = 0; i < n_jobs && !rc; i++) {
		sqlite3_bind_int64(q, 1, run);
		journal_bind(q, 2, jobs[i].job);
		journal_bind(q, 3, jobs[i].gpu);
		sqlite3_bind_int64(q, 4, jobs[i].sm_pct);
		sqlite3_bind_int64(q, 5, jobs[i].planned_start_us);
		sqlite3_bind_int64(q, 6, jobs[i].planned_end_us);
		sqlite3_bind_int64(q, 7, (int64_t)jobs[i].planned_mj);
		rc = hes_db_run(s, q, err);
	}
	sqlite3_finalize(q);
	return rc;
}

int hes_journal_copy_attempt(struct hes_journal *j, int64_t run, const struct hes_attempt *a,
			     struct hes_err *err)
{
	sqlite3_stmt *q = j->q[JOURNAL_COPY_ATTEMPT];
	const bool ended = a->verdict != HES_VERDICT_OPEN;

	journal_bind_attempt(q, run, a);
	journal_bind_maybe(q, 8, ended, a->ended_us);
	journal_bind_maybe(q, 9, ended, a->status);
	journal_bind(q, 10, hes_verdict_names[a->verdict]);
	journal_bind_maybe(q, 11, a->has_energy, (int64_t)a->energy_mj);
	journal_bind(q, 12, a->seen);
	sqlite3_bind_int64(q, 13, a->held_us);
	sqlite3_bind_int(q, 14, a->energy_split);
	return hes_db_run(j->store, q, err);
}

int hes_journal_clear(struct hes_journal *j, int64_t run, struct hes_err *err)
{
	static const char *const texts[] = {
		"DELETE FROM attempts WHERE run_id = ?",
		"DELETE FROM run_meters WHERE run_id = ?",
		"UPDATE run_jobs SET state = 'waiting', start_us = NULL, end_us = NULL, energy_mj "
		"= NULL WHERE run_id = ?",
		"UPDATE run_gpus SET busy_us = NULL, busy_mj = NULL, idle_mj = NULL WHERE run_id = "
		"?",
	};
	int rc = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && !rc; i++) {
		sqlite3_stmt *q;

		rc = hes_db_prepare(j->store, texts[i], &q, err);
		if (!rc) {
			sqlite3_bind_int64(q, 1, run);
			rc = hes_db_run(j->store, q, err);
		}
		sqlite3_finalize(q);
	}
	return rc;
}
