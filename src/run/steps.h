/*
 * steps.h - the steps of a run that run.c composes, a file each.
 */
#ifndef HES_RUN_STEPS_H
#define HES_RUN_STEPS_H

#include "run/run_state.h"

/** reconcile.c: take over what the journal and the files know of a run that is resumed. */
int run_reconcile(struct runner *r, struct hes_err *err);
/** loop.c: start jobs, wait, finish them, until all is over or the run is stopped. */
int run_loop(struct runner *r, struct hes_err *err);
/** outcome.c: report results. */
int run_report(struct runner *r, struct hes_run_report *out, struct hes_err *err);
/** lessons.c: samples of jobs that shared a GPU. */
int run_samples(const struct runner *r, struct hes_samples *out, struct hes_err *err);

#endif
