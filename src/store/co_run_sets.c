/*
 * co_run_sets.c - co-run sets that runs judged, and workloads that are not held; see
 * heshare/store.h.
 */
#include <errno.h>
#include <math.h>

#include "store/db.h"

/* A name ends at its batch size. */
#define HAS_WORKLOAD "instr(',' || jobs, ',' || ?1 || '/') > 0"

int hes_store_keep_set(struct hes_store *s, const struct hes_store_set *set, struct hes_err *err)
{
	sqlite3_stmt *q;
	int rc;

	if (!(set->time > 0 && isfinite(set->time) && set->se >= 0 && isfinite(set->se)))
		return hes_fail(err, -EINVAL, "set %.60s: %g times the time of turns, off by %g",
				set->jobs, set->time, set->se);
	rc = hes_db_prepare(s,
			    "INSERT INTO co_run_sets (gpu_type, jobs, time, energy, se, at_us) "
			    "VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET time = ?3, "
			    "energy = ?4, se = ?5, at_us = ?6",
			    &q, err);
	if (rc)
		return rc;
	sqlite3_bind_text(q, 1, set->gpu_type, -1, SQLITE_STATIC);
	sqlite3_bind_text(q, 2, set->jobs, -1, SQLITE_STATIC);
	sqlite3_bind_double(q, 3, set->time);
	sqlite3_bind_double(q, 4, set->energy); /* NaN is NULL */
	sqlite3_bind_double(q, 5, set->se);
	sqlite3_bind_int64(q, 6, set->at_us);
	rc = hes_db_run(s, q, err);
	sqlite3_finalize(q);
	return rc;
}

static int set_row(struct hes_store *s, sqlite3_stmt *q, void *out, struct hes_err *err)
{
	struct hes_store_set *set = out;

	hes_db_text(q, 0, set->gpu_type, sizeof(set->gpu_type));
	hes_db_text(q, 1, set->jobs, sizeof(set->jobs));
	set->time = sqlite3_column_double(q, 2);
	set->energy = sqlite3_column_type(q, 3) == SQLITE_NULL ? NAN : sqlite3_column_double(q, 3);
	set->se = sqlite3_column_double(q, 4);
	set->at_us = sqlite3_column_int64(q, 5);
	if (set->time > 0 && set->se >= 0)
		return 0;
	return hes_fail(err, -EBADMSG,
			"%s: damaged: a set with %g times the time of turns, off by %g; put a copy "
			"in its place",
			s->path, set->time, set->se);
}

int hes_store_sets(struct hes_store *s, const char *workload, struct hes_store_set **out, size_t *n,
		   struct hes_err *err)
{
	sqlite3_stmt *q;
	void *v;
	int rc = hes_db_prepare(s,
				"SELECT gpu_type, jobs, time, energy, se, at_us FROM co_run_sets "
				"WHERE ?1 IS NULL OR " HAS_WORKLOAD " ORDER BY gpu_type, jobs",
				&q, err);

	if (rc)
		return rc;
	sqlite3_bind_text(q, 1, workload, -1, SQLITE_STATIC);
	rc = hes_db_collect(s, q, sizeof(**out), set_row, &v, n, err);
	if (!rc)
		*out = v;
	return rc;
}

int hes_store_may_hold(struct hes_store *s, const char *workload, bool *out, struct hes_err *err)
{
	sqlite3_stmt *q;
	int rc = hes_db_prepare(s, "SELECT 1 FROM never_held WHERE workload = ?", &q, err);

	if (rc)
		return rc;
	sqlite3_bind_text(q, 1, workload, -1, SQLITE_STATIC);
	rc = hes_db_step(s, q, err);
	sqlite3_finalize(q);
	if (rc < 0)
		return rc;
	*out = !rc;
	return 0;
}

/* @param sql  removes rows of workload ?1; how many is added to @gone */
static int forget_rows(struct hes_store *s, const char *sql, const char *workload, int *gone,
		       struct hes_err *err)
{
	sqlite3_stmt *q;
	int rc = hes_db_prepare(s, sql, &q, err);

	if (rc)
		return rc;
	sqlite3_bind_text(q, 1, workload, -1, SQLITE_STATIC);
	rc = hes_db_run(s, q, err);
	*gone += rc ? 0 : sqlite3_changes(s->db);
	sqlite3_finalize(q);
	return rc;
}

int hes_store_forget_sets(struct hes_store *s, const char *workload, struct hes_err *err)
{
	int gone = 0, rc = hes_db_begin(s, err);

	if (rc)
		return rc;
	rc = forget_rows(s, "DELETE FROM co_run_sets WHERE " HAS_WORKLOAD, workload, &gone, err);
	if (!rc)
		rc = forget_rows(s, "DELETE FROM never_held WHERE workload = ?1", workload, &gone,
				 err);
	if (!rc && !gone)
		rc = hes_fail(err, -ENOENT,
			      "%s: no run learnt anything of workload \"%.60s\" with others",
			      s->path, workload);
	return hes_db_end(s, rc, err);
}
