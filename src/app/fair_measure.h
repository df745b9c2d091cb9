/*
 * fair_measure.h - measure the power of a command alone on a GPU at several clocks, and keep it in
 * the store for the arbiter.
 */
#ifndef HES_APP_FAIR_MEASURE_H
#define HES_APP_FAIR_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#include "app/app.h"
#include "heshare/tenant_power.h"

/** GPU time of the launches of a measurement. */
struct fair_service {
	uint64_t launches;
	double mean_us; /* NaN: not known */
};

struct fair_measure_request {
	const struct app *app;
	const char *place;                    /* as of fair_library_preload() */
	const char *gpus, *catalogue, *store; /* NULL: the usual ones */
	const char *tenant;
	const uint32_t *clocks; /* MHz; 0: the driver chooses */
	size_t n_clocks;
	const char *const *argv; /* the command; ends with NULL */
	/** A clock was measured. */
	void (*measured)(void *ctx, const struct hes_tenant_power *p, const struct fair_service *s);
	void *ctx;
};

/**
 * Run the command until its power was measured at each clock. It is started again where it ends,
 * and ended at the end; clocks are as before then.
 * @return 0; -EINVAL, -ERANGE the GPU or a clock; -ECHILD, -ETIME the command does not keep the GPU
 * busy; -ENOTSUP no power can be read; -errno
 */
int fair_measure(const struct fair_measure_request *q, struct hes_err *err);

#endif
