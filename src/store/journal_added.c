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
#include "store/journal.h"

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
	sqlite3_stmt *q;
	int rc = hes_db_prepare(
		j->store, "SELECT 1 FROM added_jobs WHERE run_id = ? AND id > ? LIMIT 1", &q, err);

	if (!rc) {
		sqlite3_bind_int64(q, 1, run);
		sqlite3_bind_int64(q, 2, after);
		rc = hes_db_step(j->store, q, err);
	}
	sqlite3_finalize(q);
	return rc > 0 ? hes_fail(err, -EAGAIN,
				 "others add jobs to run %" PRId64 " all the time; try again", run)
		      : rc;
}

static int check_name(struct hes_journal *j, int64_t run, const char *job, struct hes_err *err)
{
	sqlite3_stmt *q;
	int rc = hes_db_prepare(j->store, "SELECT 1 FROM run_jobs WHERE run_id = ? AND job = ?", &q,
				err);

	if (!rc) {
		sqlite3_bind_int64(q, 1, run);
		journal_bind(q, 2, job);
		rc = hes_db_step(j->store, q, err);
	}
	sqlite3_finalize(q);
	return rc > 0 ? hes_fail(err, -EEXIST,
				 "run %" PRId64
				 " has a job %s already; give the new one another name",
				 run, job)
		      : rc;
}

static int add_waiting(struct hes_journal *j, int64_t run, const struct hes_run_added *a,
		       int64_t arrival_us, struct hes_err *err)
{
	sqlite3_stmt *q;
	int rc = hes_db_prepare(j->store,
				"INSERT INTO run_jobs (run_id, job, workload, gpu, sm_pct, "
				"planned_start_us, planned_end_us, state, arrival_us) "
				"VALUES (?, ?, ?, '', 100, 0, 0, 'waiting', ?)",
				&q, err);

	if (!rc) {
		sqlite3_bind_int64(q, 1, run);
		journal_bind(q, 2, a->job.id);
		journal_bind(q, 3, a->job.workload);
		sqlite3_bind_int64(q, 4, arrival_us);
		rc = hes_db_run(j->store, q, err);
	}
	sqlite3_finalize(q);
	return rc;
}

/* The columns of a placement are those of earlier versions, which placed jobs before the run had
 * them. */
static int add_details(struct hes_journal *j, int64_t run, const struct hes_run_added *a,
		       struct hes_err *err)
{
	sqlite3_stmt *q;
	int rc = hes_db_prepare(j->store,
				"INSERT INTO added_jobs (run_id, job, batch_size, iterations, "
				"memory_mib, command, whole_run, progress, clock_mhz, together, "
				"keep, shares_pct, before_job, planned_mj, activity_mw) "
				"VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?, 0, '', 0, 0)",
				&q, err);

	if (!rc) {
		sqlite3_bind_int64(q, 1, run);
		journal_bind(q, 2, a->job.id);
		sqlite3_bind_int64(q, 3, a->job.batch_size);
		sqlite3_bind_int64(q, 4, (int64_t)a->job.iterations);
		sqlite3_bind_int64(q, 5, hes_job_memory_mib(&a->job));
		journal_bind(q, 6, a->job.command);
		sqlite3_bind_int64(q, 7, a->job.whole_run);
		journal_bind(q, 8, a->job.progress ? a->job.progress : "");
		sqlite3_bind_double(q, 9, a->job.keep);
		rc = hes_db_run(j->store, q, err);
	}
	sqlite3_finalize(q);
	return rc;
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
	for (size_t i = 0; i < n && !rc; i++) {
		rc = check_name(j, run, v[i].job.id, err);
		if (!rc)
			rc = add_waiting(j, run, &v[i], arrival_us, err);
		if (!rc)
			rc = add_details(j, run, &v[i], err);
	}
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
		sqlite3_bind_int64(q, 1, run);
		sqlite3_bind_int64(q, 2, after);
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
	sqlite3_stmt *q;
	int rc = hes_db_prepare(j->store,
				"UPDATE added_jobs SET taken = 1 WHERE run_id = ?1 AND id <= ?2",
				&q, err);

	if (!rc) {
		sqlite3_bind_int64(q, 1, run);
		sqlite3_bind_int64(q, 2, last);
		rc = hes_db_run(j->store, q, err);
	}
	sqlite3_finalize(q);
	return rc;
}

static int count_row(struct hes_store *s, sqlite3_stmt *q, void *out, struct hes_err *err)
{
	(void)s;
	(void)err;
	*(size_t *)out = (size_t)sqlite3_column_int64(q, 0);
	return 0;
}

int hes_journal_added_waiting(struct hes_journal *j, int64_t run, size_t *out, struct hes_err *err)
{
	size_t *v = NULL, n = 0;
	int rc = hes_journal_collect(
		j, "SELECT count(*) FROM added_jobs WHERE run_id = ? AND taken = 0", run,
		sizeof(*v), count_row, &v, &n, err);

	if (!rc)
		*out = n ? v[0] : 0;
	free(v);
	return rc;
}
