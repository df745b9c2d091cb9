/*
 * tenant_power.h - power that tenants of shared GPUs draw while they run, at each clock, kept in
 * the store.
 *
 * A row is a tenant's name and user, a GPU type and a clock. Errors are those of heshare/store.h.
 */
#ifndef HESHARE_TENANT_POWER_H
#define HESHARE_TENANT_POWER_H

#include "heshare/gpu_type.h"
#include "heshare/store.h"

#define HES_TENANT_NAME 64 /* with its NUL */

struct hes_tenant_power {
	char tenant[HES_TENANT_NAME];
	uint32_t uid;
	char gpu_type[HES_NAME_MAX];
	uint32_t clock_mhz; /* 0: as the driver chooses */
	double power_w;     /* of the GPU while the tenant runs, idle power included */
	double cv;          /* between parts of the measurement */
	double seconds;     /* length of the measurement */
	int64_t at_us;      /* when it was last changed, us since 1970 UTC */
};

/**
 * Find the power of a tenant.
 * @param p  tenant, uid, gpu_type and clock_mhz are given, the rest is filled
 * @return 0; -ENOENT the store has none
 */
int hes_store_find_tenant_power(struct hes_store *s, struct hes_tenant_power *p,
				struct hes_err *err);

/** Write a row, or replace it. If seconds is 0, cv and seconds of the old row stay. @return 0;
 * -EINVAL a number out of range */
int hes_store_keep_tenant_power(struct hes_store *s, const struct hes_tenant_power *p,
				struct hes_err *err);

#endif
