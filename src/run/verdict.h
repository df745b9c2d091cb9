/*
 * verdict.h - find out why jobs failed that ran with others, and whether they are tried again.
 */
#ifndef HES_RUN_VERDICT_H
#define HES_RUN_VERDICT_H

#include "run/run_state.h"

/** Judge the jobs of a GPU that ran together when one failed, once enough is known. */
void run_judge_gpu(struct runner *r, struct run_gpu *g);
/**
 * Judge a job that ended with 0 by itself: whether its work is done. If not, t->seen says what was
 * seen.
 */
void run_judge_done(struct runner *r, struct run_task *t);
/** Decide whether a judged job is tried again, and report it once. */
void run_decide(struct runner *r, struct run_task *t);

#endif
