/*
 * tenant_usage.h - what tenants of shared GPUs have used, day by day, kept in the store.
 *
 * A row is a day, a tenant's name and user, and a GPU type. Errors are those of heshare/store.h.
 */
#ifndef HESHARE_TENANT_USAGE_H
#define HESHARE_TENANT_USAGE_H

#include "heshare/tenant_power.h"

struct hes_tenant_usage {
	int64_t day_us; /* its start, us since 1970 UTC */
	char tenant[HES_TENANT_NAME];
	uint32_t uid;
	char gpu_type[HES_NAME_MAX];
	double seconds; /* GPU time that was charged */
	double joules;  /* of the GPU in that time, idle power included */
};

/** Add to the row of the day that @u->day_us is in. Later corrections may be below 0. @return 0;
 * -EINVAL a number that is not finite */
int hes_store_add_tenant_usage(struct hes_store *s, const struct hes_tenant_usage *u,
			       struct hes_err *err);

/** Rows from the day of @since_us on, sorted by day, user, name and type; free() @out. */
int hes_store_tenant_usages(struct hes_store *s, int64_t since_us, struct hes_tenant_usage **out,
			    size_t *n, struct hes_err *err);

#endif
