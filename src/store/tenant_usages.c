/*
 * tenant_usages.c - what tenants of shared GPUs have used; see heshare/tenant_usage.h.
 */
#include "heshare/tenant_usage.h"

#include <errno.h>
#include <math.h>

#include "store/db.h"

#define COLUMNS "day, tenant, uid, gpu_type, seconds, joules"
#define DAY_US  INT64_C(86400000000)

static int usage_read(struct hes_store *s, sqlite3_stmt *q, void *out, struct hes_err *err)
{
	struct hes_tenant_usage *u = out;

	(void)s;
	(void)err;
	u->day_us = sqlite3_column_int64(q, 0) * DAY_US;
	hes_db_text(q, 1, u->tenant, sizeof(u->tenant));
	u->uid = (uint32_t)sqlite3_column_int64(q, 2);
	hes_db_text(q, 3, u->gpu_type, sizeof(u->gpu_type));
	u->seconds = sqlite3_column_double(q, 4);
	u->joules = sqlite3_column_double(q, 5);
	return 0;
}

int hes_store_add_tenant_usage(struct hes_store *s, const struct hes_tenant_usage *u,
			       struct hes_err *err)
{
	sqlite3_stmt *q;
	int rc;

	if (!isfinite(u->seconds) || !isfinite(u->joules))
		return hes_fail(err, -EINVAL, "tenant \"%s\": %g s and %g J are out of range",
				u->tenant, u->seconds, u->joules);
	rc = hes_db_prepare(s,
			    "INSERT INTO tenant_usages (" COLUMNS
			    ") VALUES (?1, ?2, ?3, ?4, ?5, ?6) "
			    "ON CONFLICT (day, tenant, uid, gpu_type) DO UPDATE SET "
			    "seconds = seconds + ?5, joules = joules + ?6",
			    &q, err);
	if (rc)
		return rc;
	sqlite3_bind_int64(q, 1, u->day_us / DAY_US);
	sqlite3_bind_text(q, 2, u->tenant, -1, SQLITE_STATIC);
	sqlite3_bind_int64(q, 3, u->uid);
	sqlite3_bind_text(q, 4, u->gpu_type, -1, SQLITE_STATIC);
	sqlite3_bind_double(q, 5, u->seconds);
	sqlite3_bind_double(q, 6, u->joules);
	rc = hes_db_run(s, q, err);
	sqlite3_finalize(q);
	return rc;
}

int hes_store_tenant_usages(struct hes_store *s, int64_t since_us, struct hes_tenant_usage **out,
			    size_t *n, struct hes_err *err)
{
	sqlite3_stmt *q;
	void *v;
	int rc = hes_db_prepare(s,
				"SELECT " COLUMNS " FROM tenant_usages WHERE day >= ?1 "
				"ORDER BY day, uid, tenant, gpu_type",
				&q, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(q, 1, since_us / DAY_US);
	rc = hes_db_collect(s, q, sizeof(**out), usage_read, &v, n, err);
	if (!rc)
		*out = v;
	return rc;
}
