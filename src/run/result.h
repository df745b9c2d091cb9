/*
 * result.h - results of jobs that ended, into the journal.
 */
#ifndef HES_RUN_RESULT_H
#define HES_RUN_RESULT_H

#include "run/run_state.h"

/** Judge the tasks that have ended and write the results down. */
void run_finish(struct runner *r);
/** Write down what all GPUs and running attempts have taken so far. */
int run_keep_gpus(struct runner *r, struct hes_err *err);
/**
 * The same from time to time, without waiting for the disk: when the runner dies, the joules since
 * then are lost, those of the jobs and those of the meter.
 */
void run_keep_joules(struct runner *r, int64_t now);
/** The time to the next of these writes. */
int64_t run_keep_pause_us(int64_t now);

#endif
