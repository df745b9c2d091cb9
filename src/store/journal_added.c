/*
 * journal_added.c - jobs that are added to a run; see heshare/journal.h.
 *
 * A job is in run_jobs, where it waits like the others, and in added_jobs, which has what the
 * plan's file has of the others. Both are written in one transaction.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "heshare/journal.h"
#include "store/db.h"

void hes_run_added_free(struct hes_run_added *v, size_t n)
{
	for (size_t i = 0; v && i < n; i++)
		hes_job_finish(&v[i].job);
	free(v);
}

/* Whether jobs may still be added. */
static int check_open(struct hes_journal *j, int64_t run, struct hes_err *err)
{
	struct hes_run r;
	int rc = hes_journal_run(j, run, &r, err);

	if (rc || r.state == HES_RUN_GOING || r.state == HES_RUN_STOPPED)
		return rc;
	return hes_fail(
		err, -ESHUTDOWN,
		"run %" PRId64 " is over, so no job can be added: plan the jobs and run them", run);
}

static int check_last(struct hes_journal *j, int64_t run, int64_t after, struct hes_err *err)
{
	int rc =
		hes_db_has(j->store, "SELECT 1 FROM added_jobs WHERE run_id = ? AND id > ? LIMIT 1",
			   HES_DB(db_int(run), db_int(after)), err);

	return rc > 0 ? hes_fail(err, -EAGAIN,
				 "others add jobs to run %" PRId64 " all the time; try again", run)
		      : rc;
}

static int check_name(struct hes_journal *j, int64_t run, const char *job, struct hes_err *err)
{
	int rc = hes_db_has(j->store, "SELECT 1 FROM run_jobs WHERE run_id = ? AND job = ?",
			    HES_DB(db_int(run), db_text(job)), err);

	return rc > 0 ? hes_fail(err, -EEXIST,
				 "run %" PRId64
				 " has a job %s already; give the new one another name",
				 run, job)
		      : rc;
}

/* The columns of a placement are those of earlier versions, which placed jobs before the run had
 * them. */
static int add_job(struct hes_journal *j, int64_t run, const struct hes_job *job,
		   int64_t arrival_us, struct hes_err *err)
{
	int rc = check_name(j, run, job->id, err);

	if (!rc)
		rc = hes_db_do(j->store,
			       "INSERT INTO run_jobs (run_id, job, workload, gpu, sm_pct, "
			       "planned_start_us, planned_end_us, state, arrival_us) "
			       "VALUES (?, ?, ?, '', 100, 0, 0, 'waiting', ?)",
			       HES_DB(db_int(run), db_text(job->id), db_text(job->workload),
				      db_int(arrival_us)),
			       err);
	return rc ? rc
		  : hes_db_do(j->store,
			      "INSERT INTO added_jobs (run_id, job, batch_size, iterations, "
			      "memory_mib, command, whole_run, progress, keep, clock_mhz, "
			      "together, shares_pct, before_job, planned_mj, activity_mw) "
			      "VALUES (?, ?, ?, ?, ?, ?, ?, ifnull(?, ''), ?, 0, 0, 0, '', 0, 0)",
			      HES_DB(db_int(run), db_text(job->id), db_int(job->batch_size),
				     db_uint(job->iterations), db_int(hes_job_memory_mib(job)),
				     db_text(job->command), db_int(job->whole_run),
				     db_text(job->progress), db_real(job->keep)),
			      err);
}

int hes_journal_add(struct hes_journal *j, int64_t run, const struct hes_run_added *v, size_t n,
		    int64_t arrival_us, int64_t after, struct hes_err *err)
{
	int rc = hes_journal_begin(j, err);

	if (rc)
		return rc;
	rc = check_open(j, run, err);
	if (!rc)
		rc = check_last(j, run, after, err);
	for (size_t i = 0; i < n && !rc; i++)
		rc = add_job(j, run, &v[i].job, arrival_us, err);
	return hes_journal_end(j, rc, err);
}

static bool fits_u32(sqlite3_stmt *q, int column, int64_t least)
{
	const int64_t value = sqlite3_column_int64(q, column);

	return value >= least && value <= UINT32_MAX;
}

/* What cannot be a job was not written by hes_journal_add(). */
static bool row_is_sound(sqlite3_stmt *q)
{
	return fits_u32(q, 2, 1) && sqlite3_column_int64(q, 3) > 0 && fits_u32(q, 4, 0);
}

static int added_row(struct hes_store *s, sqlite3_stmt *q, struct hes_run_added *a,
		     struct hes_err *err)
{
	const char *command = (const char *)sqlite3_column_text(q, 5),
		   *progress = (const char *)sqlite3_column_text(q, 8);

	a->id = sqlite3_column_int64(q, 0);
	hes_db_text(q, 1, a->job.id, sizeof(a->job.id));
	if (!row_is_sound(q))
		return hes_fail(err, -EBADMSG,
				"%s: damaged: job %s, which was added to a run, has numbers out of "
				"their range; put a copy in its place",
				s->path, a->job.id);
	a->job.batch_size = (uint32_t)sqlite3_column_int64(q, 2);
	a->job.iterations = (uint64_t)sqlite3_column_int64(q, 3);
	a->job.memory_mib = (uint32_t)sqlite3_column_int64(q, 4);
	a->job.weight = 1;
	hes_db_text(q, 6, a->job.workload, sizeof(a->job.workload));
	a->job.whole_run = sqlite3_column_int64(q, 7);
	a->job.keep = sqlite3_column_double(q, 9);
	a->job.command = command ? strdup(command) : NULL;
	if (progress && *progress && !(a->job.progress = strdup(progress)))
		return hes_fail(err, -ENOMEM, "%s: out of memory", s->path);
	return a->job.command ? 0 : hes_fail(err, -ENOMEM, "%s: out of memory", s->path);
}

static int read_added(struct hes_journal *j, sqlite3_stmt *q, struct hes_run_added **v, size_t *n,
		      struct hes_err *err)
{
	int rc;

	while ((rc = hes_db_step(j->store, q, err)) > 0) {
		struct hes_run_added *more = hes_grow(*v, *n, sizeof(*more));

		if (!more)
			return hes_fail(err, -ENOMEM, "%s: out of memory for %zu jobs",
					j->store->path, *n);
		*v = more;
		more[*n] = (struct hes_run_added){ 0 };
		rc = added_row(j->store, q, &more[*n], err);
		if (rc)
			return rc;
		++*n;
	}
	return rc;
}

int hes_journal_added(struct hes_journal *j, int64_t run, int64_t after, struct hes_run_added **out,
		      size_t *out_n, struct hes_err *err)
{
	struct hes_run_added *v = NULL;
	sqlite3_stmt *q;
	size_t n = 0;
	int rc = hes_db_prepare(
		j->store,
		"SELECT a.id, a.job, batch_size, iterations, memory_mib, command, workload, "
		"whole_run, progress, keep FROM added_jobs a"
		" JOIN run_jobs r ON r.run_id = a.run_id AND r.job = a.job WHERE "
		"a.run_id = ? AND a.id > ? ORDER BY a.id",
		&q, err);

	if (!rc) {
		hes_db_bind(q, HES_DB(db_int(run), db_int(after)));
		rc = read_added(j, q, &v, &n, err);
	}
	sqlite3_finalize(q);
	if (rc) {
		hes_run_added_free(v, n);
		return rc;
	}
	*out = v;
	*out_n = n;
	return 0;
}

int hes_journal_added_taken(struct hes_journal *j, int64_t run, int64_t last, struct hes_err *err)
{
	return hes_db_do(j->store, "UPDATE added_jobs SET taken = 1 WHERE run_id = ?1 AND id <= ?2",
			 HES_DB(db_int(run), db_int(last)), err);
}

static const struct hes_db_rows count_rows = {
	(const struct hes_db_field[]){ { "count(*)", HES_FIELD_INTEGER, 0, sizeof(size_t), NULL },
				       DB_FIELDS_END },
	sizeof(size_t),
	NULL,
};

int hes_journal_added_waiting(struct hes_journal *j, int64_t run, size_t *out, struct hes_err *err)
{
	int rc = hes_db_select_one(j->store, &count_rows,
				   "added_jobs WHERE run_id = ? AND taken = 0", HES_DB(db_int(run)),
				   out, err);

	return rc < 0 ? rc : 0;
}
