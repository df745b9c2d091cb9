/*
 * journal.c - write runs, attempts and acts; see heshare/journal.h.
 *
 * Statements that a run repeats are prepared once. Every commit waits for the disk (synchronous =
 * FULL, store.c), except after hes_journal_begin_light().
 */
#include "store/journal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const hes_run_state_names[] = { "going", "done", "failed", "stopped", NULL };
const char *const hes_run_job_state_names[] = { "waiting", "done", "failed", "ended early", NULL };
const char *const hes_verdict_names[] = { "open",    "done", "failed",      "timeout", "co-failed",
					  "stopped", "lost", "ended early", NULL };

static const char *const texts[JOURNAL_STATEMENTS] = {
	[JOURNAL_ACT] = "INSERT INTO acts (run_id, at_us, gpu, job, what) VALUES (?, ?, ?, ?, ?)",
	[JOURNAL_ATTEMPT] =
		"INSERT INTO attempts (run_id, job, number, gpu, sm_pct, clock_mhz, started_us)"
		" VALUES (?, ?, ?, ?, ?, ?, ?)",
	[JOURNAL_ATTEMPT_RUNS] =
		"UPDATE attempts SET pid = ?2, pid_start = ?3, pid_boot = ?4 WHERE id = ?1",
	[JOURNAL_ATTEMPT_CLOCK] = "UPDATE attempts SET clock_mhz = ?2 WHERE id = ?1",
	[JOURNAL_ATTEMPT_ENDED] = "UPDATE attempts SET ended_us = ?2, status = ?3, verdict = ?4, "
				  "seen = ?5 WHERE id = ?1",
	[JOURNAL_ATTEMPT_HELD] = "UPDATE attempts SET held_us = ?2 WHERE id = ?1",
	[JOURNAL_NEVER_HOLD] =
		"INSERT INTO never_held (workload, run_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
	[JOURNAL_ATTEMPT_TOOK] =
		"UPDATE attempts SET energy_mj = ?2, energy_split = ?3 WHERE id = ?1",
	[JOURNAL_COPY_ATTEMPT] =
		"INSERT INTO attempts (run_id, job, number, gpu, sm_pct, clock_mhz, started_us, "
		"ended_us, status, verdict, energy_mj, seen, held_us, energy_split) VALUES (?1, "
		"?2, "
		"?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, nullif(?12, ''), ?13, ?14) ON CONFLICT DO "
		"UPDATE SET "
		"clock_mhz = ?6, ended_us = ?8, status = ?9, verdict = ?10, energy_mj = ?11, "
		"seen = nullif(?12, ''), held_us = ?13, energy_split = ?14",
	[JOURNAL_RESULT] =
		"UPDATE run_jobs SET state = ?3, start_us = ?4, end_us = ?5, energy_mj = ?6"
		" WHERE run_id = ?1 AND job = ?2",
	[JOURNAL_GPU_TOOK] = "UPDATE run_gpus SET busy_us = ?3, busy_mj = ?4, idle_mj = ?5 WHERE "
			     "run_id = ?1 AND gpu = ?2",
	[JOURNAL_METER] = "INSERT INTO run_meters (run_id, session, gpu, measured_us, energy_mj) "
			  "VALUES (?1, ?2, ?3, ?4, ?5)"
			  " ON CONFLICT DO UPDATE SET measured_us = ?4, energy_mj = ?5",
	[JOURNAL_POWER] = "UPDATE runs SET over_cap_us = ?2, peak_mw = ?3 WHERE id = ?1",
	[JOURNAL_LEARNING] =
		"UPDATE runs SET experiments = ?2, learning_us = ?3, learning_mj = ?4, "
		"learning_iterations = ?5 WHERE id = ?1",
};

int hes_journal_open(struct hes_store *s, struct hes_journal **out, struct hes_err *err)
{
	struct hes_journal *j = calloc(1, sizeof(*j));
	int rc = 0;

	if (!j)
		return hes_fail(err, -ENOMEM, "%s: out of memory", s->path);
	j->store = s;
	for (size_t i = 0; i < JOURNAL_STATEMENTS && !rc; i++)
		rc = hes_db_prepare(s, texts[i], &j->q[i], err);
	if (rc)
		hes_journal_close(j);
	else
		*out = j;
	return rc;
}

void hes_journal_close(struct hes_journal *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < JOURNAL_STATEMENTS; i++)
		sqlite3_finalize(j->q[i]);
	free(j);
}

int hes_journal_begin(struct hes_journal *j, struct hes_err *err)
{
	return hes_db_begin(j->store, err);
}

int hes_journal_begin_light(struct hes_journal *j, struct hes_err *err)
{
	int rc = hes_db_exec(j->store, "PRAGMA synchronous = NORMAL", err);

	j->light = true;
	if (!rc)
		rc = hes_db_begin(j->store, err);
	return rc ? hes_journal_end(j, rc, err) : 0;
}

int hes_journal_end(struct hes_journal *j, int rc, struct hes_err *err)
{
	rc = hes_db_end(j->store, rc, err);
	if (j->light)
		hes_db_exec(j->store, "PRAGMA synchronous = FULL", NULL);
	j->light = false;
	return rc;
}

static int add_run(struct hes_store *s, const struct hes_run *r, int64_t *id, struct hes_err *err)
{
	sqlite3_stmt *q;
	int rc = hes_db_prepare(
		s,
		"INSERT INTO runs (plan_key, plan, folder, host, started_us, "
		"state, runner_pid, runner_start,"
		" runner_boot, progress) VALUES (?, ?, ?, ?, ?, 'going', ?, ?, ?, ?)",
		&q, err);

	if (!rc) {
		sqlite3_bind_int64(q, 1, (int64_t)r->plan_key);
		journal_bind(q, 2, r->plan);
		journal_bind(q, 3, r->folder);
		journal_bind(q, 4, r->host);
		sqlite3_bind_int64(q, 5, r->started_us);
		sqlite3_bind_int64(q, 6, r->runner.pid);
		sqlite3_bind_int64(q, 7, r->runner.start);
		journal_bind(q, 8, r->runner.boot);
		journal_bind(q, 9, r->progress);
		rc = hes_db_run(s, q, err);
	}
	sqlite3_finalize(q);
	*id = sqlite3_last_insert_rowid(s->db);
	return rc;
}

#define ADD_GPU                                                                           \
	"INSERT INTO run_gpus (run_id, gpu, gpu_type, uuid, planned_mj, planned_busy_us)" \
	" VALUES (?, ?, ?, ?, ?, ?)"

int journal_add_gpus(struct hes_store *s, int64_t run, const struct hes_run_gpu *v, size_t n,
		     bool again, struct hes_err *err)
{
	sqlite3_stmt *q;
	int rc = hes_db_prepare(s,
				again ? ADD_GPU " ON CONFLICT DO UPDATE SET gpu_type = "
						"excluded.gpu_type, uuid = excluded.uuid"
				      : ADD_GPU,
				&q, err);

	for (size_t i = 0; i < n && !rc; i++) {
		sqlite3_bind_int64(q, 1, run);
		journal_bind(q, 2, v[i].gpu);
		journal_bind(q, 3, v[i].gpu_type);
		journal_bind(q, 4, v[i].uuid);
		sqlite3_bind_int64(q, 5, (int64_t)v[i].planned_mj);
		sqlite3_bind_int64(q, 6, v[i].planned_busy_us);
		rc = hes_db_run(s, q, err);
	}
	sqlite3_finalize(q);
	return rc;
}

static int add_jobs(struct hes_store *s, int64_t run, const struct hes_run_job *v, size_t n,
		    struct hes_err *err)
{
	sqlite3_stmt *q;
	int rc = hes_db_prepare(s,
				"INSERT INTO run_jobs (run_id, job, workload, gpu, sm_pct, "
				"planned_start_us, planned_end_us, planned_mj,"
				" state) VALUES (?, ?, ?, ?, ?, ?, ?, nullif(?, 0), 'waiting')",
				&q, err);

	for (size_t i = 0; i < n && !rc; i++) {
		sqlite3_bind_int64(q, 1, run);
		journal_bind(q, 2, v[i].job);
		journal_bind(q, 3, v[i].workload);
		journal_bind(q, 4, v[i].gpu);
		sqlite3_bind_int64(q, 5, v[i].sm_pct);
		sqlite3_bind_int64(q, 6, v[i].planned_start_us);
		sqlite3_bind_int64(q, 7, v[i].planned_end_us);
		sqlite3_bind_int64(q, 8, (int64_t)v[i].planned_mj);
		rc = hes_db_run(s, q, err);
	}
	sqlite3_finalize(q);
	return rc;
}

int hes_journal_new_run(struct hes_journal *j, struct hes_run *run, const struct hes_run_gpu *gpus,
			size_t n_gpus, const struct hes_run_job *jobs, size_t n_jobs,
			struct hes_err *err)
{
	int64_t id = 0;
	int rc = hes_db_begin(j->store, err);

	if (rc)
		return rc;
	rc = add_run(j->store, run, &id, err);
	if (!rc)
		rc = journal_add_gpus(j->store, id, gpus, n_gpus, false, err);
	if (!rc)
		rc = add_jobs(j->store, id, jobs, n_jobs, err);
	rc = hes_db_end(j->store, rc, err);
	if (!rc)
		run->id = id;
	return rc;
}

int hes_journal_take_over(struct hes_journal *j, const struct hes_run *run, struct hes_err *err)
{
	char host[sizeof(((struct hes_run *)0)->host)] = "";
	sqlite3_stmt *q;
	int rc = hes_db_prepare(
		j->store,
		"UPDATE runs SET state = 'going', ended_us = 0, runner_pid = ?2, runner_start = ?3,"
		" runner_boot = ?4, host = ?5, progress = ?6 WHERE id = ?1",
		&q, err);

	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	if (!rc) {
		sqlite3_bind_int64(q, 1, run->id);
		sqlite3_bind_int64(q, 2, run->runner.pid);
		sqlite3_bind_int64(q, 3, run->runner.start);
		journal_bind(q, 4, run->runner.boot);
		journal_bind(q, 5, host);
		journal_bind(q, 6, run->progress);
		rc = hes_db_run(j->store, q, err);
	}
	sqlite3_finalize(q);
	return rc;
}

static int write_ended(struct hes_journal *j, int64_t run, enum hes_run_state state,
		       int64_t ended_us, struct hes_err *err)
{
	sqlite3_stmt *q;
	int rc = hes_db_prepare(j->store, "UPDATE runs SET ended_us = ?3, state = ?2 WHERE id = ?1",
				&q, err);

	if (!rc) {
		sqlite3_bind_int64(q, 1, run);
		journal_bind(q, 2, hes_run_state_names[state]);
		sqlite3_bind_int64(q, 3, ended_us);
		rc = hes_db_run(j->store, q, err);
	}
	sqlite3_finalize(q);
	return rc;
}

int hes_journal_run_ended(struct hes_journal *j, int64_t run, enum hes_run_state *state,
			  int64_t ended_us, struct hes_err *err)
{
	enum hes_run_state ended = *state;
	size_t waiting = 0;
	int rc = hes_journal_begin(j, err);

	if (rc)
		return rc;
	rc = hes_journal_added_waiting(j, run, &waiting, err);
	if (!rc && waiting)
		ended = HES_RUN_STOPPED;
	if (!rc)
		rc = write_ended(j, run, ended, ended_us, err);
	rc = hes_journal_end(j, rc, err);
	if (!rc)
		*state = ended;
	return rc;
}

int hes_journal_act(struct hes_journal *j, int64_t run, int64_t at_us, const char *gpu,
		    const char *job, const char *what, struct hes_err *err)
{
	sqlite3_stmt *q = j->q[JOURNAL_ACT];

	sqlite3_bind_int64(q, 1, run);
	sqlite3_bind_int64(q, 2, at_us);
	journal_bind(q, 3, gpu);
	journal_bind(q, 4, job);
	journal_bind(q, 5, what);
	return hes_db_run(j->store, q, err);
}

void journal_bind_attempt(sqlite3_stmt *q, int64_t run, const struct hes_attempt *a)
{
	sqlite3_bind_int64(q, 1, run);
	journal_bind(q, 2, a->job);
	sqlite3_bind_int64(q, 3, a->number);
	journal_bind(q, 4, a->gpu);
	sqlite3_bind_int64(q, 5, a->sm_pct);
	sqlite3_bind_int64(q, 6, a->clock_mhz);
	sqlite3_bind_int64(q, 7, a->started_us);
}

int hes_journal_attempt(struct hes_journal *j, int64_t run, struct hes_attempt *a,
			struct hes_err *err)
{
	sqlite3_stmt *q = j->q[JOURNAL_ATTEMPT];
	int rc;

	journal_bind_attempt(q, run, a);
	rc = hes_db_run(j->store, q, err);
	if (!rc)
		a->id = sqlite3_last_insert_rowid(j->store->db);
	return rc;
}

int hes_journal_attempt_runs(struct hes_journal *j, int64_t attempt,
			     const struct hes_run_process *p, struct hes_err *err)
{
	sqlite3_stmt *q = j->q[JOURNAL_ATTEMPT_RUNS];

	sqlite3_bind_int64(q, 1, attempt);
	sqlite3_bind_int64(q, 2, p->pid);
	sqlite3_bind_int64(q, 3, p->start);
	journal_bind(q, 4, p->boot);
	return hes_db_run(j->store, q, err);
}

int hes_journal_attempt_ended(struct hes_journal *j, int64_t attempt, int64_t ended_us,
			      int32_t status, enum hes_verdict verdict, const char *seen,
			      struct hes_err *err)
{
	sqlite3_stmt *q = j->q[JOURNAL_ATTEMPT_ENDED];

	sqlite3_bind_int64(q, 1, attempt);
	sqlite3_bind_int64(q, 2, ended_us);
	sqlite3_bind_int64(q, 3, status);
	journal_bind(q, 4, hes_verdict_names[verdict]);
	journal_bind(q, 5, seen && *seen ? seen : NULL);
	return hes_db_run(j->store, q, err);
}

int hes_journal_attempt_clock(struct hes_journal *j, int64_t attempt, uint32_t clock_mhz,
			      struct hes_err *err)
{
	sqlite3_stmt *q = j->q[JOURNAL_ATTEMPT_CLOCK];

	sqlite3_bind_int64(q, 1, attempt);
	sqlite3_bind_int64(q, 2, clock_mhz);
	return hes_db_run(j->store, q, err);
}

int hes_journal_attempt_held(struct hes_journal *j, int64_t attempt, int64_t held_us,
			     struct hes_err *err)
{
	sqlite3_stmt *q = j->q[JOURNAL_ATTEMPT_HELD];

	sqlite3_bind_int64(q, 1, attempt);
	sqlite3_bind_int64(q, 2, held_us);
	return hes_db_run(j->store, q, err);
}

int hes_journal_never_hold(struct hes_journal *j, int64_t run, const char *workload,
			   struct hes_err *err)
{
	sqlite3_stmt *q = j->q[JOURNAL_NEVER_HOLD];

	journal_bind(q, 1, workload);
	sqlite3_bind_int64(q, 2, run);
	return hes_db_run(j->store, q, err);
}

int hes_journal_attempt_took(struct hes_journal *j, int64_t attempt, bool known, uint64_t energy_mj,
			     bool split, struct hes_err *err)
{
	sqlite3_stmt *q = j->q[JOURNAL_ATTEMPT_TOOK];

	sqlite3_bind_int64(q, 1, attempt);
	journal_bind_maybe(q, 2, known, (int64_t)energy_mj);
	sqlite3_bind_int(q, 3, split);
	return hes_db_run(j->store, q, err);
}

int hes_journal_result(struct hes_journal *j, int64_t run, const struct hes_run_job *r,
		       struct hes_err *err)
{
	sqlite3_stmt *q = j->q[JOURNAL_RESULT];

	sqlite3_bind_int64(q, 1, run);
	journal_bind(q, 2, r->job);
	journal_bind(q, 3, hes_run_job_state_names[r->state]);
	sqlite3_bind_int64(q, 4, r->start_us);
	sqlite3_bind_int64(q, 5, r->end_us);
	journal_bind_maybe(q, 6, r->has_energy, (int64_t)r->energy_mj);
	return hes_db_run(j->store, q, err);
}

int hes_journal_gpu_took(struct hes_journal *j, int64_t run, const struct hes_run_gpu *g,
			 struct hes_err *err)
{
	sqlite3_stmt *q = j->q[JOURNAL_GPU_TOOK];

	sqlite3_bind_int64(q, 1, run);
	journal_bind(q, 2, g->gpu);
	journal_bind_maybe(q, 3, g->measured, g->busy_us);
	journal_bind_maybe(q, 4, g->measured, (int64_t)g->busy_mj);
	journal_bind_maybe(q, 5, g->measured, (int64_t)g->idle_mj);
	return hes_db_run(j->store, q, err);
}

int hes_journal_meter(struct hes_journal *j, int64_t run, const struct hes_run_meter *m,
		      struct hes_err *err)
{
	sqlite3_stmt *q = j->q[JOURNAL_METER];

	sqlite3_bind_int64(q, 1, run);
	sqlite3_bind_int64(q, 2, m->session);
	journal_bind(q, 3, m->gpu);
	sqlite3_bind_int64(q, 4, m->measured_us);
	sqlite3_bind_int64(q, 5, (int64_t)m->energy_mj);
	return hes_db_run(j->store, q, err);
}

int hes_journal_power(struct hes_journal *j, int64_t run, int64_t over_cap_us, uint64_t peak_mw,
		      struct hes_err *err)
{
	sqlite3_stmt *q = j->q[JOURNAL_POWER];

	sqlite3_bind_int64(q, 1, run);
	sqlite3_bind_int64(q, 2, over_cap_us);
	sqlite3_bind_int64(q, 3, (int64_t)peak_mw);
	return hes_db_run(j->store, q, err);
}

int hes_journal_learning(struct hes_journal *j, int64_t run, const struct hes_run_learning *l,
			 struct hes_err *err)
{
	sqlite3_stmt *q = j->q[JOURNAL_LEARNING];

	sqlite3_bind_int64(q, 1, run);
	sqlite3_bind_int64(q, 2, (int64_t)l->experiments);
	sqlite3_bind_int64(q, 3, l->took_us);
	sqlite3_bind_int64(q, 4, (int64_t)l->energy_mj);
	sqlite3_bind_int64(q, 5, (int64_t)l->iterations);
	return hes_db_run(j->store, q, err);
}
