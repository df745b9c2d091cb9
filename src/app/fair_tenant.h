/*
 * fair_tenant.h - a command as a tenant of an arbiter: the library (interpose/) that is preloaded
 * into it, so that its CUDA launches are scheduled, and the variables that the library reads.
 */
#ifndef HES_APP_FAIR_TENANT_H
#define HES_APP_FAIR_TENANT_H

#include "app/app.h"

struct fair_tenant {
	const struct app *app;                      /* its variables are set */
	const char *place;                          /* as of fair_library_preload() */
	const char *name, *weight, *clock, *socket; /* of options; NULL: not given */
	const char *if_refused;                     /* wait, run or exit */
	const char *program;                        /* argv[0] of the command */
};

/**
 * Set the variables that make a command the tenant. What keeps it from being scheduled is said.
 * @return 0; -EINVAL, -ERANGE an option; -ENOENT, -EPERM no library; -errno
 */
int fair_tenant_prepare(const struct fair_tenant *q, struct hes_err *err);

/**
 * The variable that preloads it, "LD_PRELOAD=...".
 * @param place  where it is installed, from the program's folder on
 * @return 0, then free() @out; -ENOENT it is not there; -EPERM others could replace it; -EINVAL its
 * name; -ENOMEM
 */
int fair_library_preload(const struct app *app, const char *place, char **out, struct hes_err *err);

#endif
