/*
 * tenants_file.h - tenants files of `fair_simulate` (tenants.md).
 */
#ifndef PAPERS_TENANTS_FILE_H
#define PAPERS_TENANTS_FILE_H

#include "fair_replay.h"
#include "heshare/job.h"

struct fair_tenants {
	char (*names)[HES_NAME_MAX];  /* [n] */
	double *clock_mhz;            /* [n]; 0: not known */
	struct fair_replay_tenant *v; /* [n] */
	size_t n;
	bool any_clock, any_request;
};

/** @return 0; -EINVAL, -ERANGE or -ENOENT with file, line and column; -E2BIG too many tenants;
 * -ENOMEM; -errno */
int fair_tenants_load(const char *path, struct fair_tenants *out, struct hes_err *err);
void fair_tenants_free(struct fair_tenants *t);

#endif
