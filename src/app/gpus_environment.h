/*
 * gpus_environment.h - variables and MPS daemons that heshare was started with, and jobs.
 */
#ifndef HES_APP_GPUS_ENVIRONMENT_H
#define HES_APP_GPUS_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "app/app.h"
#include "heshare/device.h"

/**
 * Report what outside of heshare changes what jobs get: variables, and an MPS daemon on one of
 * @gpus.
 * @param gpus     indices; those below 0 are passed over
 * @param inherit  jobs inherit the environment of this process
 */
void gpus_environment_tell(const struct app *app, const struct hes_devices *d, const long *gpus,
			   size_t n, bool inherit);

#endif
