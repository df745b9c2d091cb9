/*
 * tenant_powers.c - powers of tenants of shared GPUs; see heshare/tenant_power.h.
 */
#include "heshare/tenant_power.h"

#include <errno.h>
#include <math.h>

#include "store/db.h"

#define COLUMNS "tenant, uid, gpu_type, clock_mhz, power_w, cv, seconds, at_us"

static int power_read(struct hes_store *s, sqlite3_stmt *q, void *out, struct hes_err *err)
{
	struct hes_tenant_power *p = out;

	hes_db_text(q, 0, p->tenant, sizeof(p->tenant));
	p->uid = (uint32_t)sqlite3_column_int64(q, 1);
	hes_db_text(q, 2, p->gpu_type, sizeof(p->gpu_type));
	p->clock_mhz = (uint32_t)sqlite3_column_int64(q, 3);
	p->power_w = sqlite3_column_double(q, 4);
	p->cv = sqlite3_column_double(q, 5);
	p->seconds = sqlite3_column_double(q, 6);
	p->at_us = sqlite3_column_int64(q, 7);
	if (p->power_w > 0 && isfinite(p->power_w))
		return 0;
	return hes_fail(err, -EBADMSG,
			"%s: damaged: a tenant with a power of %g W; put a copy in its place",
			s->path, p->power_w);
}

static void power_bind_key(sqlite3_stmt *q, const struct hes_tenant_power *p)
{
	sqlite3_bind_text(q, 1, p->tenant, -1, SQLITE_STATIC);
	sqlite3_bind_int64(q, 2, p->uid);
	sqlite3_bind_text(q, 3, p->gpu_type, -1, SQLITE_STATIC);
	sqlite3_bind_int64(q, 4, p->clock_mhz);
}

int hes_store_find_tenant_power(struct hes_store *s, struct hes_tenant_power *p,
				struct hes_err *err)
{
	struct hes_tenant_power found = { .uid = 0 };
	sqlite3_stmt *q;
	int rc = hes_db_prepare(
		s,
		"SELECT " COLUMNS
		" FROM tenant_powers WHERE tenant = ?1 AND uid = ?2 AND gpu_type = ?3 "
		"AND clock_mhz = ?4",
		&q, err);

	if (rc)
		return rc;
	power_bind_key(q, p);
	rc = hes_db_step(s, q, err);
	if (rc > 0)
		rc = power_read(s, q, &found, err);
	else if (!rc)
		rc = hes_fail(err, -ENOENT, "%s: no power of tenant \"%s\"", s->path, p->tenant);
	sqlite3_finalize(q);
	if (!rc)
		*p = found;
	return rc;
}

int hes_store_keep_tenant_power(struct hes_store *s, const struct hes_tenant_power *p,
				struct hes_err *err)
{
	sqlite3_stmt *q;
	int rc;

	if (!(p->power_w > 0 && p->power_w < 1e6 && p->cv >= 0 && isfinite(p->cv) &&
	      p->seconds >= 0 && isfinite(p->seconds)))
		return hes_fail(
			err, -EINVAL,
			"tenant \"%s\": a power of %g W, with %g over %g s, is out of range",
			p->tenant, p->power_w, p->cv, p->seconds);
	rc = hes_db_prepare(s,
			    "INSERT INTO tenant_powers (" COLUMNS
			    ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) "
			    "ON CONFLICT (tenant, uid, gpu_type, clock_mhz) DO UPDATE SET power_w "
			    "= ?5, at_us = ?8, "
			    "cv = iif(?7 > 0, ?6, cv), seconds = iif(?7 > 0, ?7, seconds)",
			    &q, err);
	if (rc)
		return rc;
	power_bind_key(q, p);
	sqlite3_bind_double(q, 5, p->power_w);
	sqlite3_bind_double(q, 6, p->cv);
	sqlite3_bind_double(q, 7, p->seconds);
	sqlite3_bind_int64(q, 8, p->at_us);
	rc = hes_db_run(s, q, err);
	sqlite3_finalize(q);
	return rc;
}

int hes_store_tenant_powers(struct hes_store *s, struct hes_tenant_power **out, size_t *n,
			    struct hes_err *err)
{
	sqlite3_stmt *q;
	void *v;
	int rc = hes_db_prepare(s,
				"SELECT " COLUMNS
				" FROM tenant_powers ORDER BY tenant, uid, gpu_type, clock_mhz",
				&q, err);

	if (!rc)
		rc = hes_db_collect(s, q, sizeof(**out), power_read, &v, n, err);
	if (!rc)
		*out = v;
	return rc;
}
