/*
 * finish.h - results of jobs that ended, into the journal.
 */
#ifndef HES_RUN_FINISH_H
#define HES_RUN_FINISH_H

#include "run/run_state.h"

/** Judge the tasks that have ended and write the results down. */
void run_finish(struct runner *r);
/** Write down what all GPUs have taken so far. */
int  run_keep_gpus(struct runner *r, struct hes_err *err);

#endif
