/*
 * run_gpus.h - the GPUs of this machine that a run uses.
 */
#ifndef HES_APP_RUN_GPUS_H
#define HES_APP_RUN_GPUS_H

#include "app/app.h"
#include "heshare/device.h"
#include "heshare/journal.h"
#include "heshare/plan.h"

/** A plan and the GPUs that are there. */
struct run_gpus {
	const struct app *app;
	struct hes_fleet *fleet; /* of the plan */
	const struct hes_plan *plan;
	const char *node; /* whose part is carried out; NULL: all */
	const struct hes_devices *devices;
	long *gpus; /* one a GPU of the fleet: see fit_devices() */
};

/** Find the GPUs of the plan, and warn of power limits that changed.
 * @param others  others of the same types may stand for those that the plan names
 * @param resume  a GPU may be lost
 * @return as fit_devices() */
int run_gpus_fit(const struct run_gpus *u, bool others, bool resume, struct hes_err *err);

/** A run that goes on has the GPUs that it began with: the fleet gets their UUIDs. @return 0;
 * errors of the journal */
int run_gpus_bind(const struct run_gpus *u, struct hes_journal *j, int64_t run,
		  struct hes_err *err);

/** Two runs on one GPU would take the clock from one another. @return 0; -EBUSY another run than
 * @run has one of the GPUs; errors of the journal */
int run_gpus_check(const struct run_gpus *u, struct hes_journal *j, int64_t run,
		   struct hes_err *err);

#endif
