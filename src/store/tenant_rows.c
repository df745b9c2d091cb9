/*
 * tenant_rows.c - powers of tenants of shared GPUs, and what they have used; see
 * heshare/tenant_power.h and heshare/tenant_usage.h.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "heshare/tenant_usage.h"
#include "store/db.h"

#define DAY_US 86400000000

static int check_power(const struct hes_store *s, const void *row, struct hes_err *err)
{
	const struct hes_tenant_power *p = row;

	return p->power_w > 0 && isfinite(p->power_w)
		       ? 0
		       : hes_fail(err, -EBADMSG,
				  "%s: damaged: a tenant with a power of %g W; put a copy in its "
				  "place",
				  s->path, p->power_w);
}

static const struct hes_db_rows power_rows = {
	(const struct hes_db_field[]){
		DB_TEXT("tenant", struct hes_tenant_power, tenant),
		DB_INT("uid", struct hes_tenant_power, uid),
		DB_TEXT("gpu_type", struct hes_tenant_power, gpu_type),
		DB_INT("clock_mhz", struct hes_tenant_power, clock_mhz),
		DB_REAL("power_w", struct hes_tenant_power, power_w),
		DB_REAL("cv", struct hes_tenant_power, cv),
		DB_REAL("seconds", struct hes_tenant_power, seconds),
		DB_INT("at_us", struct hes_tenant_power, at_us),
		DB_FIELDS_END,
	},
	sizeof(struct hes_tenant_power),
	check_power,
};

static const struct hes_db_rows usage_rows = {
	(const struct hes_db_field[]){
		DB_INT("day * 86400000000", struct hes_tenant_usage, day_us),
		DB_TEXT("tenant", struct hes_tenant_usage, tenant),
		DB_INT("uid", struct hes_tenant_usage, uid),
		DB_TEXT("gpu_type", struct hes_tenant_usage, gpu_type),
		DB_REAL("seconds", struct hes_tenant_usage, seconds),
		DB_REAL("joules", struct hes_tenant_usage, joules),
		DB_FIELDS_END,
	},
	sizeof(struct hes_tenant_usage),
	NULL,
};

int hes_store_find_tenant_power(struct hes_store *s, struct hes_tenant_power *p,
				struct hes_err *err)
{
	struct hes_tenant_power found;
	int rc = hes_db_select_one(
		s, &power_rows,
		"tenant_powers WHERE tenant = ? AND uid = ? AND gpu_type = ? AND clock_mhz = ?",
		HES_DB(db_text(p->tenant), db_int(p->uid), db_text(p->gpu_type),
		       db_int(p->clock_mhz)),
		&found, err);

	if (!rc)
		return hes_fail(err, -ENOENT, "%s: no power of tenant \"%s\"", s->path, p->tenant);
	if (rc > 0)
		*p = found;
	return rc < 0 ? rc : 0;
}

int hes_store_keep_tenant_power(struct hes_store *s, const struct hes_tenant_power *p,
				struct hes_err *err)
{
	if (!(p->power_w > 0 && p->power_w < 1e6 && p->cv >= 0 && isfinite(p->cv) &&
	      p->seconds >= 0 && isfinite(p->seconds)))
		return hes_fail(
			err, -EINVAL,
			"tenant \"%s\": a power of %g W, with %g over %g s, is out of range",
			p->tenant, p->power_w, p->cv, p->seconds);
	return hes_db_do(s,
			 "INSERT INTO tenant_powers (tenant, uid, gpu_type, clock_mhz, power_w, "
			 "cv, seconds, at_us) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT "
			 "(tenant, uid, gpu_type, clock_mhz) DO UPDATE SET power_w = ?5, at_us = "
			 "?8, cv = iif(?7 > 0, ?6, cv), seconds = iif(?7 > 0, ?7, seconds)",
			 HES_DB(db_text(p->tenant), db_int(p->uid), db_text(p->gpu_type),
				db_int(p->clock_mhz), db_real(p->power_w), db_real(p->cv),
				db_real(p->seconds), db_int(p->at_us)),
			 err);
}

int hes_store_add_tenant_usage(struct hes_store *s, const struct hes_tenant_usage *u,
			       struct hes_err *err)
{
	if (!isfinite(u->seconds) || !isfinite(u->joules))
		return hes_fail(err, -EINVAL, "tenant \"%s\": %g s and %g J are out of range",
				u->tenant, u->seconds, u->joules);
	return hes_db_do(s,
			 "INSERT INTO tenant_usages (day, tenant, uid, gpu_type, seconds, joules) "
			 "VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (day, tenant, uid, gpu_type) "
			 "DO UPDATE SET seconds = seconds + ?5, joules = joules + ?6",
			 HES_DB(db_int(u->day_us / DAY_US), db_text(u->tenant), db_int(u->uid),
				db_text(u->gpu_type), db_real(u->seconds), db_real(u->joules)),
			 err);
}

int hes_store_tenant_usages(struct hes_store *s, int64_t since_us, struct hes_tenant_usage **out,
			    size_t *n, struct hes_err *err)
{
	return hes_db_select(s, &usage_rows,
			     "tenant_usages WHERE day >= ? ORDER BY day, uid, tenant, gpu_type",
			     HES_DB(db_int(since_us / DAY_US)), out, n, err);
}
