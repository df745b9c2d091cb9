/*
 * start_jobs.h - start jobs that may start.
 *
 * Their processes are made and paused, then all starts go into the journal together, then the
 * processes are let go. A paused process runs nothing. If the journal cannot be written the paused
 * processes are dropped.
 */
#ifndef HES_RUN_START_JOBS_H
#define HES_RUN_START_JOBS_H

#include "run/children.h"
#include "run/learner.h"
#include "run/power_cap.h"

struct run_starter {
	const struct hes_run_request *q;
	struct run_log *log;
	struct run_clock *clock; /* begins with the first jobs */
	struct run_stop *stop;
	struct run_tasks *tasks;
	struct run_gpus *gpus;
	struct run_cap *cap;
	struct run_children *children;
	struct run_learner *learner;
	bool begun; /* the first jobs were started */
	bool reported;
};

/**
 * Start all jobs that may start. A start that is impossible for now is reported and tried again.
 * @param plan_near  a plan is being made: jobs without a place wait for it
 * @return whether a job cannot be started at all: run_finish() has work
 */
bool run_start(struct run_starter *s, bool plan_near);

#endif
