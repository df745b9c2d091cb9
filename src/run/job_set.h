/*
 * job_set.h - co-run sets of a run as experiments: measured against the members' own rates, kept or
 * separated, and jobs of which nothing is known that are let in next to others.
 */
#ifndef HES_RUN_JOB_SET_H
#define HES_RUN_JOB_SET_H

#include "run/hold.h"

/** Look at the jobs of a GPU, after run_look() and run_segment_settle(). */
void run_learn_set(struct run_holder *h, struct run_gpu *g, int64_t now);

#endif
