/*
 * job_floor.h - jobs that must keep a part of their speed alone next to co-runners.
 */
#ifndef HES_RUN_JOB_FLOOR_H
#define HES_RUN_JOB_FLOOR_H

#include "run/hold.h"

/** Whether a job that shares the GPU has a floor. */
bool run_has_floor(const struct run_gpu *g);
/** A running job with a floor and progress that was never measured alone; NULL: none. */
struct run_task *run_floor_unknown(struct run_learner *l, const struct run_gpu *g);
/** Say, once an attempt, that the floor of a job is not kept. @param why  such as "could not be
 * measured alone" */
void run_floor_give_up(struct run_learner *l, struct run_task *t, const char *why);
/** Count windows of jobs with floors, and hold co-runners of a job that is below its floor, the
 * newest first, but none with a deadline. One that is held is tried again after a wait, which
 * doubles. @param changed  jobs have ended or come: it is tried again at once */
void run_keep_floor(struct run_learner *l, struct run_holder *h, struct run_gpu *g, bool changed,
		    int64_t now);

#endif
