/*
 * loop.h - the event loop of a run.
 */
#ifndef HES_RUN_LOOP_H
#define HES_RUN_LOOP_H

#include "run/run_state.h"

/** Start jobs, wait, finish them, until all is over or the run is stopped. */
int run_loop(struct runner *r, struct hes_err *err);

#endif
