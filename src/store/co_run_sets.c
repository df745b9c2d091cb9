/*
 * co_run_sets.c - co-run sets that runs judged, and workloads that are not held; see
 * heshare/store.h.
 */
#include <errno.h>
#include <math.h>

#include "store/db.h"

/* A name ends at its batch size. */
#define HAS_WORKLOAD "instr(',' || jobs, ',' || ?1 || '/') > 0"

static int check_set(const struct hes_store *s, const void *row, struct hes_err *err)
{
	const struct hes_store_set *set = row;

	return set->time > 0 && set->se >= 0
		       ? 0
		       : hes_fail(err, -EBADMSG,
				  "%s: damaged: a set with %g times the time of turns, off by %g; "
				  "put a copy in its place",
				  s->path, set->time, set->se);
}

static const struct hes_db_rows set_rows = {
	(const struct hes_db_field[]){
		DB_TEXT("gpu_type", struct hes_store_set, gpu_type),
		DB_TEXT("jobs", struct hes_store_set, jobs),
		DB_REAL("time", struct hes_store_set, time),
		DB_REAL("energy", struct hes_store_set, energy),
		DB_REAL("se", struct hes_store_set, se),
		DB_INT("at_us", struct hes_store_set, at_us),
		DB_FIELDS_END,
	},
	sizeof(struct hes_store_set),
	check_set,
};

int hes_store_keep_set(struct hes_store *s, const struct hes_store_set *set, struct hes_err *err)
{
	if (!(set->time > 0 && isfinite(set->time) && set->se >= 0 && isfinite(set->se)))
		return hes_fail(err, -EINVAL, "set %.60s: %g times the time of turns, off by %g",
				set->jobs, set->time, set->se);
	return hes_db_do(s,
			 "INSERT INTO co_run_sets (gpu_type, jobs, time, energy, se, at_us) "
			 "VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET time = ?3, "
			 "energy = ?4, se = ?5, at_us = ?6",
			 HES_DB(db_text(set->gpu_type), db_text(set->jobs), db_real(set->time),
				db_real(set->energy), db_real(set->se), db_int(set->at_us)),
			 err);
}

int hes_store_sets(struct hes_store *s, const char *workload, struct hes_store_set **out, size_t *n,
		   struct hes_err *err)
{
	return hes_db_select(s, &set_rows,
			     "co_run_sets WHERE ?1 IS NULL OR " HAS_WORKLOAD
			     " ORDER BY gpu_type, jobs",
			     HES_DB(db_text(workload)), out, n, err);
}

int hes_store_may_hold(struct hes_store *s, const char *workload, bool *out, struct hes_err *err)
{
	int rc = hes_db_has(s, "SELECT 1 FROM never_held WHERE workload = ?",
			    HES_DB(db_text(workload)), err);

	if (rc < 0)
		return rc;
	*out = !rc;
	return 0;
}

int hes_store_forget_sets(struct hes_store *s, const char *workload, struct hes_err *err)
{
	static const char *const removals[] = { "DELETE FROM co_run_sets WHERE " HAS_WORKLOAD,
						"DELETE FROM never_held WHERE workload = ?1" };
	int gone = 0, rc = hes_db_begin(s, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < 2 && !rc; i++) {
		rc = hes_db_do(s, removals[i], HES_DB(db_text(workload)), err);
		gone += rc ? 0 : sqlite3_changes(s->db);
	}
	if (!rc && !gone)
		rc = hes_fail(err, -ENOENT,
			      "%s: no run learnt anything of workload \"%.60s\" with others",
			      s->path, workload);
	return hes_db_end(s, rc, err);
}
