/*
 * result.h - results of tasks that ended, and what GPUs and attempts have taken so far, into the
 * journal.
 */
#ifndef HES_RUN_RESULT_H
#define HES_RUN_RESULT_H

#include "run/learner.h"
#include "run/plan_again.h"
#include "run/solo_point.h"
#include "run/verdict.h"

struct run_results {
	struct run_log *log;
	struct run_tasks *tasks;
	struct run_gpus *gpus;
	struct run_meter *meter;
	const struct run_cap *cap;
	struct run_samples *samples;
	struct run_judge *judge;
	struct run_replans *replans; /* hear of tasks that are over */
	struct run_learner *learner;
};

/** Judge the tasks that have ended and write the results down. */
void run_finish(struct run_results *rs);
/** Write down what all GPUs and running attempts have taken so far. */
int run_keep_gpus(struct run_results *rs, struct hes_err *err);
/**
 * The same from time to time, without waiting for the disk: when the runner dies, the joules since
 * then are lost, those of the jobs and those of the meter.
 */
void run_keep_joules(struct run_results *rs, int64_t now);
/** The time to the next of these writes. */
int64_t run_keep_pause_us(int64_t now);

#endif
