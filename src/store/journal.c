/*
 * journal.c - write runs, attempts and acts; see heshare/journal.h.
 *
 * Every commit waits for the disk (synchronous = FULL, store.c), except after
 * hes_journal_begin_light().
 */
#include "heshare/journal.h"
#include "store/db.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const hes_run_state_names[] = { "going", "done", "failed", "stopped", NULL };
const char *const hes_run_job_state_names[] = { "waiting", "done", "failed", "ended early", NULL };
const char *const hes_verdict_names[] = { "open",    "done", "failed",      "timeout", "co-failed",
					  "stopped", "lost", "ended early", NULL };

int hes_journal_open(struct hes_store *s, struct hes_journal **out, struct hes_err *err)
{
	struct hes_journal *j = calloc(1, sizeof(*j));

	if (!j)
		return hes_fail(err, -ENOMEM, "%s: out of memory", s->path);
	j->store = s;
	*out = j;
	return 0;
}

void hes_journal_close(struct hes_journal *j)
{
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

/* --- runs --- */

static int add_run(struct hes_store *s, const struct hes_run *r, int64_t *id, struct hes_err *err)
{
	int rc = hes_db_do(
		s,
		"INSERT INTO runs (plan_key, plan, folder, host, started_us, state, runner_pid, "
		"runner_start, runner_boot, progress) VALUES (?, ?, ?, ?, ?, 'going', ?, ?, ?, ?)",
		HES_DB(db_uint(r->plan_key), db_text(r->plan), db_text(r->folder), db_text(r->host),
		       db_int(r->started_us), db_int(r->runner.pid), db_int(r->runner.start),
		       db_text(r->runner.boot), db_text(r->progress)),
		err);

	*id = sqlite3_last_insert_rowid(s->db);
	return rc;
}

#define ADD_GPU                                                                           \
	"INSERT INTO run_gpus (run_id, gpu, gpu_type, uuid, planned_mj, planned_busy_us)" \
	" VALUES (?, ?, ?, ?, ?, ?)"

/* @param again  a GPU of the run that is there gets this type and UUID */
static int add_gpus(struct hes_store *s, int64_t run, const struct hes_run_gpu *v, size_t n,
		    bool again, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++)
		rc = hes_db_do(s,
			       again ? ADD_GPU " ON CONFLICT DO UPDATE SET gpu_type = "
					       "excluded.gpu_type, uuid = excluded.uuid"
				     : ADD_GPU,
			       HES_DB(db_int(run), db_text(v[i].gpu), db_text(v[i].gpu_type),
				      db_text(v[i].uuid), db_uint(v[i].planned_mj),
				      db_int(v[i].planned_busy_us)),
			       err);
	return rc;
}

/* @param sql  of a statement that takes the run, and then what a plan says of a job */
static int put_jobs(struct hes_store *s, const char *sql, int64_t run, const struct hes_run_job *v,
		    size_t n, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++)
		rc = hes_db_do(s, sql,
			       HES_DB(db_int(run), db_text(v[i].job), db_text(v[i].gpu),
				      db_int(v[i].sm_pct), db_int(v[i].planned_start_us),
				      db_int(v[i].planned_end_us), db_uint(v[i].planned_mj),
				      db_text(v[i].workload)),
			       err);
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
		rc = add_gpus(j->store, id, gpus, n_gpus, false, err);
	if (!rc)
		rc = put_jobs(j->store,
			      "INSERT INTO run_jobs (run_id, job, gpu, sm_pct, planned_start_us, "
			      "planned_end_us, planned_mj, workload, state) VALUES (?, ?, ?, ?, ?, "
			      "?, nullif(?, 0), ?, 'waiting')",
			      id, jobs, n_jobs, err);
	rc = hes_db_end(j->store, rc, err);
	if (!rc)
		run->id = id;
	return rc;
}

int hes_journal_take_over(struct hes_journal *j, const struct hes_run *run, struct hes_err *err)
{
	char host[sizeof(((struct hes_run *)0)->host)] = "";

	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	return hes_db_do(
		j->store,
		"UPDATE runs SET state = 'going', ended_us = 0, runner_pid = ?2, runner_start = ?3,"
		" runner_boot = ?4, host = ?5, progress = ?6 WHERE id = ?1",
		HES_DB(db_int(run->id), db_int(run->runner.pid), db_int(run->runner.start),
		       db_text(run->runner.boot), db_text(host), db_text(run->progress)),
		err);
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
		rc = hes_db_do(
			j->store, "UPDATE runs SET ended_us = ?3, state = ?2 WHERE id = ?1",
			HES_DB(db_int(run), db_text(hes_run_state_names[ended]), db_int(ended_us)),
			err);
	rc = hes_journal_end(j, rc, err);
	if (!rc)
		*state = ended;
	return rc;
}

int hes_journal_power(struct hes_journal *j, int64_t run, int64_t over_cap_us, uint64_t peak_mw,
		      struct hes_err *err)
{
	return hes_db_do(j->store, "UPDATE runs SET over_cap_us = ?2, peak_mw = ?3 WHERE id = ?1",
			 HES_DB(db_int(run), db_int(over_cap_us), db_uint(peak_mw)), err);
}

int hes_journal_learning(struct hes_journal *j, int64_t run, const struct hes_run_learning *l,
			 struct hes_err *err)
{
	return hes_db_do(j->store,
			 "UPDATE runs SET experiments = ?2, learning_us = ?3, learning_mj = ?4, "
			 "learning_iterations = ?5 WHERE id = ?1",
			 HES_DB(db_int(run), db_uint(l->experiments), db_int(l->took_us),
				db_uint(l->energy_mj), db_uint(l->iterations)),
			 err);
}

int hes_journal_act(struct hes_journal *j, int64_t run, int64_t at_us, const char *gpu,
		    const char *job, const char *what, struct hes_err *err)
{
	return hes_db_do(
		j->store, "INSERT INTO acts (run_id, at_us, gpu, job, what) VALUES (?, ?, ?, ?, ?)",
		HES_DB(db_int(run), db_int(at_us), db_text(gpu), db_text(job), db_text(what)), err);
}

/* --- attempts --- */

int hes_journal_attempt(struct hes_journal *j, int64_t run, struct hes_attempt *a,
			struct hes_err *err)
{
	int rc = hes_db_do(
		j->store,
		"INSERT INTO attempts (run_id, job, number, gpu, sm_pct, clock_mhz, started_us)"
		" VALUES (?, ?, ?, ?, ?, ?, ?)",
		HES_DB(db_int(run), db_text(a->job), db_int(a->number), db_text(a->gpu),
		       db_int(a->sm_pct), db_int(a->clock_mhz), db_int(a->started_us)),
		err);

	if (!rc)
		a->id = sqlite3_last_insert_rowid(j->store->db);
	return rc;
}

int hes_journal_attempt_runs(struct hes_journal *j, int64_t attempt,
			     const struct hes_run_process *p, struct hes_err *err)
{
	return hes_db_do(
		j->store,
		"UPDATE attempts SET pid = ?2, pid_start = ?3, pid_boot = ?4 WHERE id = ?1",
		HES_DB(db_int(attempt), db_int(p->pid), db_int(p->start), db_text(p->boot)), err);
}

int hes_journal_attempt_ended(struct hes_journal *j, int64_t attempt, int64_t ended_us,
			      int32_t status, enum hes_verdict verdict, const char *seen,
			      struct hes_err *err)
{
	return hes_db_do(j->store,
			 "UPDATE attempts SET ended_us = ?2, status = ?3, verdict = ?4, "
			 "seen = nullif(?5, '') WHERE id = ?1",
			 HES_DB(db_int(attempt), db_int(ended_us), db_int(status),
				db_text(hes_verdict_names[verdict]), db_text(seen)),
			 err);
}

int hes_journal_attempt_clock(struct hes_journal *j, int64_t attempt, uint32_t clock_mhz,
			      struct hes_err *err)
{
	return hes_db_do(j->store, "UPDATE attempts SET clock_mhz = ?2 WHERE id = ?1",
			 HES_DB(db_int(attempt), db_int(clock_mhz)), err);
}

int hes_journal_attempt_held(struct hes_journal *j, int64_t attempt, int64_t held_us,
			     struct hes_err *err)
{
	return hes_db_do(j->store, "UPDATE attempts SET held_us = ?2 WHERE id = ?1",
			 HES_DB(db_int(attempt), db_int(held_us)), err);
}

int hes_journal_attempt_took(struct hes_journal *j, int64_t attempt, bool known, uint64_t energy_mj,
			     bool split, struct hes_err *err)
{
	return hes_db_do(
		j->store, "UPDATE attempts SET energy_mj = ?2, energy_split = ?3 WHERE id = ?1",
		HES_DB(db_int(attempt), db_maybe(known, (int64_t)energy_mj), db_int(split)), err);
}

int hes_journal_never_hold(struct hes_journal *j, int64_t run, const char *workload,
			   struct hes_err *err)
{
	return hes_db_do(
		j->store,
		"INSERT INTO never_held (workload, run_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
		HES_DB(db_text(workload), db_int(run)), err);
}

/* --- what jobs and GPUs took --- */

int hes_journal_result(struct hes_journal *j, int64_t run, const struct hes_run_job *r,
		       struct hes_err *err)
{
	return hes_db_do(
		j->store,
		"UPDATE run_jobs SET state = ?3, start_us = ?4, end_us = ?5, energy_mj = ?6"
		" WHERE run_id = ?1 AND job = ?2",
		HES_DB(db_int(run), db_text(r->job), db_text(hes_run_job_state_names[r->state]),
		       db_int(r->start_us), db_int(r->end_us),
		       db_maybe(r->has_energy, (int64_t)r->energy_mj)),
		err);
}

int hes_journal_gpu_took(struct hes_journal *j, int64_t run, const struct hes_run_gpu *g,
			 struct hes_err *err)
{
	return hes_db_do(j->store,
			 "UPDATE run_gpus SET busy_us = ?3, busy_mj = ?4, idle_mj = ?5 WHERE "
			 "run_id = ?1 AND gpu = ?2",
			 HES_DB(db_int(run), db_text(g->gpu), db_maybe(g->measured, g->busy_us),
				db_maybe(g->measured, (int64_t)g->busy_mj),
				db_maybe(g->measured, (int64_t)g->idle_mj)),
			 err);
}

int hes_journal_meter(struct hes_journal *j, int64_t run, const struct hes_run_meter *m,
		      struct hes_err *err)
{
	return hes_db_do(j->store,
			 "INSERT INTO run_meters (run_id, session, gpu, measured_us, energy_mj) "
			 "VALUES (?1, ?2, ?3, ?4, ?5)"
			 " ON CONFLICT DO UPDATE SET measured_us = ?4, energy_mj = ?5",
			 HES_DB(db_int(run), db_int(m->session), db_text(m->gpu),
				db_int(m->measured_us), db_uint(m->energy_mj)),
			 err);
}

/* --- runs on several nodes --- */

int hes_journal_replan(struct hes_journal *j, int64_t run, const struct hes_run_gpu *gpus,
		       size_t n_gpus, const struct hes_run_job *jobs, size_t n_jobs,
		       struct hes_err *err)
{
	int rc = add_gpus(j->store, run, gpus, n_gpus, true, err);

	return rc ? rc
		  : put_jobs(j->store,
			     "UPDATE run_jobs SET gpu = ?3, sm_pct = ?4, planned_start_us = ?5, "
			     "planned_end_us = ?6, planned_mj = nullif(?7, 0), state = 'waiting', "
			     "start_us = NULL, end_us = NULL, energy_mj = NULL WHERE run_id = ?1 "
			     "AND job = ?2",
			     run, jobs, n_jobs, err);
}

int hes_journal_copy_attempt(struct hes_journal *j, int64_t run, const struct hes_attempt *a,
			     struct hes_err *err)
{
	const bool ended = a->verdict != HES_VERDICT_OPEN;

	return hes_db_do(
		j->store,
		"INSERT INTO attempts (run_id, job, number, gpu, sm_pct, clock_mhz, started_us, "
		"ended_us, status, verdict, energy_mj, seen, held_us, energy_split) VALUES (?1, "
		"?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, nullif(?12, ''), ?13, ?14) ON CONFLICT "
		"DO UPDATE SET clock_mhz = ?6, ended_us = ?8, status = ?9, verdict = ?10, "
		"energy_mj = ?11, seen = nullif(?12, ''), held_us = ?13, energy_split = ?14",
		HES_DB(db_int(run), db_text(a->job), db_int(a->number), db_text(a->gpu),
		       db_int(a->sm_pct), db_int(a->clock_mhz), db_int(a->started_us),
		       db_maybe(ended, a->ended_us), db_maybe(ended, a->status),
		       db_text(hes_verdict_names[a->verdict]),
		       db_maybe(a->has_energy, (int64_t)a->energy_mj), db_text(a->seen),
		       db_int(a->held_us), db_int(a->energy_split)),
		err);
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

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && !rc; i++)
		rc = hes_db_do(j->store, texts[i], HES_DB(db_int(run)), err);
	return rc;
}
