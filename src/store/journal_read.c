/*
 * journal_read.c - read runs, attempts and results; see heshare/journal.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/journal.h"

#define RUN_COLUMNS                                                                   \
	"id, plan_key, plan, folder, host, started_us, ended_us, state, runner_pid, " \
	"runner_start, runner_boot, over_cap_us, peak_mw, progress, experiments, "    \
	"learning_us, learning_mj, learning_iterations"

/* Which of @names a column holds; the schema lets no other in. */
static int word(sqlite3_stmt *q, int column, const char *const *names)
{
	char text[16];
	int i = 0;

	hes_db_text(q, column, text, sizeof(text));
	while (names[i + 1] && strcmp(names[i], text) != 0)
		i++;
	return i;
}

static int run_row(struct hes_store *s, sqlite3_stmt *q, void *out, struct hes_err *err)
{
	struct hes_run *r = out;

	(void)s;
	(void)err;
	r->id = sqlite3_column_int64(q, 0);
	r->plan_key = (uint64_t)sqlite3_column_int64(q, 1);
	hes_db_text(q, 2, r->plan, sizeof(r->plan));
	hes_db_text(q, 3, r->folder, sizeof(r->folder));
	hes_db_text(q, 4, r->host, sizeof(r->host));
	r->started_us = sqlite3_column_int64(q, 5);
	r->ended_us = sqlite3_column_int64(q, 6);
	r->state = (enum hes_run_state)word(q, 7, hes_run_state_names);
	r->runner.pid = sqlite3_column_int64(q, 8);
	r->runner.start = sqlite3_column_int64(q, 9);
	hes_db_text(q, 10, r->runner.boot, sizeof(r->runner.boot));
	r->over_cap_us = sqlite3_column_int64(q, 11);
	r->peak_mw = (uint64_t)sqlite3_column_int64(q, 12);
	hes_db_text(q, 13, r->progress, sizeof(r->progress));
	r->learning = (struct hes_run_learning){
		.experiments = (uint64_t)sqlite3_column_int64(q, 14),
		.took_us = sqlite3_column_int64(q, 15),
		.energy_mj = (uint64_t)sqlite3_column_int64(q, 16),
		.iterations = (uint64_t)sqlite3_column_int64(q, 17),
	};
	return 0;
}

int hes_journal_last_run(struct hes_journal *j, uint64_t plan_key, struct hes_run *out,
			 struct hes_err *err)
{
	struct hes_run *v = NULL;
	sqlite3_stmt *q;
	size_t n = 0;
	void *rows;
	int rc = hes_db_prepare(j->store,
				"SELECT " RUN_COLUMNS
				" FROM runs WHERE plan_key = ? ORDER BY id DESC LIMIT 1",
				&q, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(q, 1, (int64_t)plan_key);
	rc = hes_db_collect(j->store, q, sizeof(*v), run_row, &rows, &n, err);
	if (rc)
		return rc;
	v = rows;
	if (n)
		*out = v[0];
	free(v);
	return n ? 0 : hes_fail(err, -ENOENT, "%s: this plan was never run", j->store->path);
}

int hes_journal_collect(struct hes_journal *j, const char *sql, int64_t key, size_t size,
			int (*row)(struct hes_store *s, sqlite3_stmt *q, void *out,
				   struct hes_err *err),
			void *out, size_t *out_n, struct hes_err *err)
{
	sqlite3_stmt *q;
	void *rows;
	int rc = hes_db_prepare(j->store, sql, &q, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(q, 1, key);
	rc = hes_db_collect(j->store, q, size, row, &rows, out_n, err);
	if (!rc)
		memcpy(out, &rows, sizeof(rows));
	return rc;
}

int hes_journal_going(struct hes_journal *j, int64_t id, struct hes_run **out, size_t *out_n,
		      struct hes_err *err)
{
	return hes_journal_collect(
		j, "SELECT " RUN_COLUMNS " FROM runs WHERE state = 'going' AND id <> ? ORDER BY id",
		id, sizeof(**out), run_row, out, out_n, err);
}

int hes_journal_run(struct hes_journal *j, int64_t id, struct hes_run *out, struct hes_err *err)
{
	struct hes_run *v = NULL;
	size_t n = 0;
	int rc = hes_journal_collect(j, "SELECT " RUN_COLUMNS " FROM runs WHERE id = ?", id,
				     sizeof(*v), run_row, &v, &n, err);

	if (rc)
		return rc;
	if (n)
		*out = v[0];
	free(v);
	return n ? 0 : hes_fail(err, -ENOENT, "%s: there is no run %" PRId64, j->store->path, id);
}

int hes_journal_recent(struct hes_journal *j, size_t most, struct hes_run **out, size_t *out_n,
		       struct hes_err *err)
{
	return hes_journal_collect(j,
				   "SELECT " RUN_COLUMNS
				   " FROM runs WHERE state = 'going' OR id IN (SELECT id FROM runs"
				   " WHERE state <> 'going' ORDER BY id DESC LIMIT ?) ORDER BY id",
				   (int64_t)most, sizeof(**out), run_row, out, out_n, err);
}

static int gpu_row(struct hes_store *s, sqlite3_stmt *q, void *out, struct hes_err *err)
{
	struct hes_run_gpu *g = out;

	(void)s;
	(void)err;
	hes_db_text(q, 0, g->gpu, sizeof(g->gpu));
	hes_db_text(q, 1, g->gpu_type, sizeof(g->gpu_type));
	hes_db_text(q, 2, g->uuid, sizeof(g->uuid));
	g->planned_mj = (uint64_t)sqlite3_column_int64(q, 3);
	g->planned_busy_us = sqlite3_column_int64(q, 4);
	g->measured = sqlite3_column_type(q, 5) != SQLITE_NULL;
	g->busy_us = sqlite3_column_int64(q, 5);
	g->busy_mj = (uint64_t)sqlite3_column_int64(q, 6);
	g->idle_mj = (uint64_t)sqlite3_column_int64(q, 7);
	return 0;
}

int hes_journal_gpus(struct hes_journal *j, int64_t run, struct hes_run_gpu **out, size_t *out_n,
		     struct hes_err *err)
{
	return hes_journal_collect(j,
				   "SELECT gpu, gpu_type, uuid, planned_mj, planned_busy_us, "
				   "busy_us, busy_mj, idle_mj FROM run_gpus"
				   " WHERE run_id = ? ORDER BY id",
				   run, sizeof(**out), gpu_row, out, out_n, err);
}

/* The last attempt of a job that has ended. */
#define ENDED \
	"a.run_id = j.run_id AND a.job = j.job AND verdict <> 'open' ORDER BY number DESC LIMIT 1"

static int job_row(struct hes_store *s, sqlite3_stmt *q, void *out, struct hes_err *err)
{
	struct hes_run_job *r = out;

	(void)s;
	(void)err;
	hes_db_text(q, 0, r->job, sizeof(r->job));
	hes_db_text(q, 1, r->workload, sizeof(r->workload));
	hes_db_text(q, 2, r->gpu, sizeof(r->gpu));
	r->sm_pct = (uint32_t)sqlite3_column_int64(q, 3);
	r->planned_start_us = sqlite3_column_int64(q, 4);
	r->planned_end_us = sqlite3_column_int64(q, 5);
	r->state = (enum hes_run_job_state)word(q, 6, hes_run_job_state_names);
	r->start_us = sqlite3_column_int64(q, 7);
	r->end_us = sqlite3_column_int64(q, 8);
	r->has_energy = sqlite3_column_type(q, 9) != SQLITE_NULL;
	r->energy_mj = (uint64_t)sqlite3_column_int64(q, 9);
	r->aborted_mj = (uint64_t)sqlite3_column_int64(q, 10);
	r->last_status = sqlite3_column_int(q, 11);
	r->last_verdict = (enum hes_verdict)word(q, 12, hes_verdict_names);
	r->arrival_us = sqlite3_column_int64(q, 13);
	hes_db_text(q, 14, r->seen, sizeof(r->seen));
	r->planned_mj = (uint64_t)sqlite3_column_int64(q, 15);
	r->held_us = sqlite3_column_int64(q, 16);
	r->energy_split = sqlite3_column_int(q, 17) != 0;
	return 0;
}

int hes_journal_jobs(struct hes_journal *j, int64_t run, struct hes_run_job **out, size_t *out_n,
		     struct hes_err *err)
{
	return hes_journal_collect(
		j,
		"SELECT job, workload, gpu, sm_pct, planned_start_us, "
		"planned_end_us, state, start_us, end_us, energy_mj,"
		" (SELECT total(energy_mj) FROM attempts a WHERE a.run_id = "
		"j.run_id AND a.job = j.job AND verdict <> 'done'),"
		" (SELECT status FROM attempts a WHERE " ENDED
		"), coalesce((SELECT verdict FROM attempts a WHERE " ENDED
		"), 'open'), arrival_us, (SELECT seen FROM attempts a WHERE " ENDED
		"), planned_mj, coalesce((SELECT held_us FROM attempts a WHERE " ENDED
		"), 0), (SELECT energy_split FROM attempts a WHERE " ENDED ")"
		" FROM run_jobs j WHERE run_id = ? ORDER BY id",
		run, sizeof(**out), job_row, out, out_n, err);
}

static int attempt_row(struct hes_store *s, sqlite3_stmt *q, void *out, struct hes_err *err)
{
	struct hes_attempt *a = out;

	(void)s;
	(void)err;
	a->id = sqlite3_column_int64(q, 0);
	hes_db_text(q, 1, a->job, sizeof(a->job));
	a->number = (uint32_t)sqlite3_column_int64(q, 2);
	hes_db_text(q, 3, a->gpu, sizeof(a->gpu));
	a->sm_pct = (uint32_t)sqlite3_column_int64(q, 4);
	a->clock_mhz = (uint32_t)sqlite3_column_int64(q, 5);
	a->started_us = sqlite3_column_int64(q, 6);
	a->process.pid = sqlite3_column_int64(q, 7);
	a->process.start = sqlite3_column_int64(q, 8);
	hes_db_text(q, 9, a->process.boot, sizeof(a->process.boot));
	a->ended_us = sqlite3_column_int64(q, 10);
	a->status = sqlite3_column_int(q, 11);
	a->verdict = (enum hes_verdict)word(q, 12, hes_verdict_names);
	a->has_energy = sqlite3_column_type(q, 13) != SQLITE_NULL;
	a->energy_mj = (uint64_t)sqlite3_column_int64(q, 13);
	hes_db_text(q, 14, a->seen, sizeof(a->seen));
	a->held_us = sqlite3_column_int64(q, 15);
	a->energy_split = sqlite3_column_int(q, 16) != 0;
	return 0;
}

int hes_journal_attempts(struct hes_journal *j, int64_t run, struct hes_attempt **out,
			 size_t *out_n, struct hes_err *err)
{
	return hes_journal_collect(j,
				   "SELECT id, job, number, gpu, sm_pct, clock_mhz, started_us, "
				   "pid, pid_start, pid_boot, ended_us, status,"
				   " verdict, energy_mj, seen, held_us, energy_split FROM attempts "
				   "WHERE run_id = ? ORDER BY id",
				   run, sizeof(**out), attempt_row, out, out_n, err);
}

int hes_journal_may_hold(struct hes_journal *j, const char *workload, bool *out,
			 struct hes_err *err)
{
	return hes_store_may_hold(j->store, workload, out, err);
}

static int meter_row(struct hes_store *s, sqlite3_stmt *q, void *out, struct hes_err *err)
{
	struct hes_run_meter *m = out;

	(void)s;
	(void)err;
	m->session = (uint32_t)sqlite3_column_int64(q, 0);
	hes_db_text(q, 1, m->gpu, sizeof(m->gpu));
	m->measured_us = sqlite3_column_int64(q, 2);
	m->energy_mj = (uint64_t)sqlite3_column_int64(q, 3);
	return 0;
}

int hes_journal_meters(struct hes_journal *j, int64_t run, struct hes_run_meter **out,
		       size_t *out_n, struct hes_err *err)
{
	return hes_journal_collect(j,
				   "SELECT session, gpu, measured_us, energy_mj FROM run_meters "
				   "WHERE run_id = ? ORDER BY session, gpu",
				   run, sizeof(**out), meter_row, out, out_n, err);
}
