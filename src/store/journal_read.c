/*
 * journal_read.c - read runs, attempts and results; see heshare/journal.h.
 */
#include <errno.h>
#include <inttypes.h>

#include "heshare/journal.h"
#include "store/db.h"

static const struct hes_db_rows run_rows = {
	(const struct hes_db_field[]){
		DB_INT("id", struct hes_run, id),
		DB_INT("plan_key", struct hes_run, plan_key),
		DB_TEXT("plan", struct hes_run, plan),
		DB_TEXT("folder", struct hes_run, folder),
		DB_TEXT("host", struct hes_run, host),
		DB_INT("started_us", struct hes_run, started_us),
		DB_INT("ended_us", struct hes_run, ended_us),
		DB_WORD("state", struct hes_run, state, hes_run_state_names),
		DB_INT("runner_pid", struct hes_run, runner.pid),
		DB_INT("runner_start", struct hes_run, runner.start),
		DB_TEXT("runner_boot", struct hes_run, runner.boot),
		DB_INT("over_cap_us", struct hes_run, over_cap_us),
		DB_INT("peak_mw", struct hes_run, peak_mw),
		DB_TEXT("progress", struct hes_run, progress),
		DB_INT("experiments", struct hes_run, learning.experiments),
		DB_INT("learning_us", struct hes_run, learning.took_us),
		DB_INT("learning_mj", struct hes_run, learning.energy_mj),
		DB_INT("learning_iterations", struct hes_run, learning.iterations),
		DB_FIELDS_END,
	},
	sizeof(struct hes_run),
	NULL,
};

static const struct hes_db_rows gpu_rows = {
	(const struct hes_db_field[]){
		DB_TEXT("gpu", struct hes_run_gpu, gpu),
		DB_TEXT("gpu_type", struct hes_run_gpu, gpu_type),
		DB_TEXT("uuid", struct hes_run_gpu, uuid),
		DB_INT("planned_mj", struct hes_run_gpu, planned_mj),
		DB_INT("planned_busy_us", struct hes_run_gpu, planned_busy_us),
		DB_KNOWN("busy_us", struct hes_run_gpu, measured),
		DB_INT("busy_us", struct hes_run_gpu, busy_us),
		DB_INT("busy_mj", struct hes_run_gpu, busy_mj),
		DB_INT("idle_mj", struct hes_run_gpu, idle_mj),
		DB_FIELDS_END,
	},
	sizeof(struct hes_run_gpu),
	NULL,
};

/* Of the last attempt of a job that has ended. */
#define LAST(column)                                                                      \
	"(SELECT " column " FROM attempts a WHERE a.run_id = j.run_id AND a.job = j.job " \
	"AND verdict <> 'open' ORDER BY number DESC LIMIT 1)"

static const struct hes_db_rows job_rows = {
	(const struct hes_db_field[]){
		DB_TEXT("job", struct hes_run_job, job),
		DB_TEXT("workload", struct hes_run_job, workload),
		DB_TEXT("gpu", struct hes_run_job, gpu),
		DB_INT("sm_pct", struct hes_run_job, sm_pct),
		DB_INT("planned_start_us", struct hes_run_job, planned_start_us),
		DB_INT("planned_end_us", struct hes_run_job, planned_end_us),
		DB_INT("planned_mj", struct hes_run_job, planned_mj),
		DB_WORD("state", struct hes_run_job, state, hes_run_job_state_names),
		DB_INT("start_us", struct hes_run_job, start_us),
		DB_INT("end_us", struct hes_run_job, end_us),
		DB_KNOWN("energy_mj", struct hes_run_job, has_energy),
		DB_INT("energy_mj", struct hes_run_job, energy_mj),
		DB_INT("arrival_us", struct hes_run_job, arrival_us),
		DB_INT("(SELECT total(energy_mj) FROM attempts a WHERE a.run_id = j.run_id AND "
		       "a.job = j.job AND verdict <> 'done')",
		       struct hes_run_job, aborted_mj),
		DB_INT(LAST("status"), struct hes_run_job, last_status),
		DB_WORD("coalesce(" LAST("verdict") ", 'open')", struct hes_run_job, last_verdict,
			hes_verdict_names),
		DB_TEXT(LAST("seen"), struct hes_run_job, seen),
		DB_INT(LAST("held_us"), struct hes_run_job, held_us),
		DB_BOOL(LAST("energy_split"), struct hes_run_job, energy_split),
		DB_FIELDS_END,
	},
	sizeof(struct hes_run_job),
	NULL,
};

static const struct hes_db_rows attempt_rows = {
	(const struct hes_db_field[]){
		DB_INT("id", struct hes_attempt, id),
		DB_TEXT("job", struct hes_attempt, job),
		DB_INT("number", struct hes_attempt, number),
		DB_TEXT("gpu", struct hes_attempt, gpu),
		DB_INT("sm_pct", struct hes_attempt, sm_pct),
		DB_INT("clock_mhz", struct hes_attempt, clock_mhz),
		DB_INT("started_us", struct hes_attempt, started_us),
		DB_INT("pid", struct hes_attempt, process.pid),
		DB_INT("pid_start", struct hes_attempt, process.start),
		DB_TEXT("pid_boot", struct hes_attempt, process.boot),
		DB_INT("ended_us", struct hes_attempt, ended_us),
		DB_INT("status", struct hes_attempt, status),
		DB_WORD("verdict", struct hes_attempt, verdict, hes_verdict_names),
		DB_KNOWN("energy_mj", struct hes_attempt, has_energy),
		DB_INT("energy_mj", struct hes_attempt, energy_mj),
		DB_TEXT("seen", struct hes_attempt, seen),
		DB_INT("held_us", struct hes_attempt, held_us),
		DB_BOOL("energy_split", struct hes_attempt, energy_split),
		DB_FIELDS_END,
	},
	sizeof(struct hes_attempt),
	NULL,
};

static const struct hes_db_rows meter_rows = {
	(const struct hes_db_field[]){
		DB_INT("session", struct hes_run_meter, session),
		DB_TEXT("gpu", struct hes_run_meter, gpu),
		DB_INT("measured_us", struct hes_run_meter, measured_us),
		DB_INT("energy_mj", struct hes_run_meter, energy_mj),
		DB_FIELDS_END,
	},
	sizeof(struct hes_run_meter),
	NULL,
};

int hes_journal_last_run(struct hes_journal *j, uint64_t plan_key, struct hes_run *out,
			 struct hes_err *err)
{
	int rc = hes_db_select_one(j->store, &run_rows,
				   "runs WHERE plan_key = ? ORDER BY id DESC LIMIT 1",
				   HES_DB(db_uint(plan_key)), out, err);

	return rc ? rc < 0 ? rc : 0
		  : hes_fail(err, -ENOENT, "%s: this plan was never run", j->store->path);
}

int hes_journal_run(struct hes_journal *j, int64_t id, struct hes_run *out, struct hes_err *err)
{
	int rc = hes_db_select_one(j->store, &run_rows, "runs WHERE id = ?", HES_DB(db_int(id)),
				   out, err);

	return rc ? rc < 0 ? rc : 0
		  : hes_fail(err, -ENOENT, "%s: there is no run %" PRId64, j->store->path, id);
}

int hes_journal_going(struct hes_journal *j, int64_t id, struct hes_run **out, size_t *out_n,
		      struct hes_err *err)
{
	return hes_db_select(j->store, &run_rows,
			     "runs WHERE state = 'going' AND id <> ? ORDER BY id",
			     HES_DB(db_int(id)), out, out_n, err);
}

int hes_journal_recent(struct hes_journal *j, size_t most, struct hes_run **out, size_t *out_n,
		       struct hes_err *err)
{
	return hes_db_select(j->store, &run_rows,
			     "runs WHERE state = 'going' OR id IN (SELECT id FROM runs"
			     " WHERE state <> 'going' ORDER BY id DESC LIMIT ?) ORDER BY id",
			     HES_DB(db_uint(most)), out, out_n, err);
}

int hes_journal_gpus(struct hes_journal *j, int64_t run, struct hes_run_gpu **out, size_t *out_n,
		     struct hes_err *err)
{
	return hes_db_select(j->store, &gpu_rows, "run_gpus WHERE run_id = ? ORDER BY id",
			     HES_DB(db_int(run)), out, out_n, err);
}

int hes_journal_jobs(struct hes_journal *j, int64_t run, struct hes_run_job **out, size_t *out_n,
		     struct hes_err *err)
{
	return hes_db_select(j->store, &job_rows, "run_jobs j WHERE run_id = ? ORDER BY id",
			     HES_DB(db_int(run)), out, out_n, err);
}

int hes_journal_attempts(struct hes_journal *j, int64_t run, struct hes_attempt **out,
			 size_t *out_n, struct hes_err *err)
{
	return hes_db_select(j->store, &attempt_rows, "attempts WHERE run_id = ? ORDER BY id",
			     HES_DB(db_int(run)), out, out_n, err);
}

int hes_journal_meters(struct hes_journal *j, int64_t run, struct hes_run_meter **out,
		       size_t *out_n, struct hes_err *err)
{
	return hes_db_select(j->store, &meter_rows,
			     "run_meters WHERE run_id = ? ORDER BY session, gpu",
			     HES_DB(db_int(run)), out, out_n, err);
}

int hes_journal_may_hold(struct hes_journal *j, const char *workload, bool *out,
			 struct hes_err *err)
{
	return hes_store_may_hold(j->store, workload, out, err);
}
