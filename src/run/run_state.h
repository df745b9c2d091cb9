/*
 * run_state.h - a run in progress: the owners of its state, each with a file of its own, and how
 * they know each other. Only run.c, loop.c and run_totals.c see them all.
 */
#ifndef HES_RUN_RUN_STATE_H
#define HES_RUN_RUN_STATE_H

#include "run/job_set.h"
#include "run/learner.h"
#include "run/live.h"
#include "run/result.h"
#include "run/start_jobs.h"

/* loop.c */
struct run_events {
	int epoll, signals;
	int64_t look_us; /* when to read progress */
};

struct runner {
	const struct hes_run_request *q;
	struct hes_job_folder folder;
	struct run_clock clock;
	struct run_log log;
	struct run_stop stop;
	struct run_tasks tasks;
	struct run_gpus gpus;
	struct run_meter meter;
	struct run_settings settings;
	struct run_cap cap;
	struct run_places places;
	struct run_replans replans;
	struct run_samples samples;
	struct run_holder holder;
	struct run_learner learner;
	struct run_judge judge;
	struct run_children children;
	struct run_starter starter;
	struct run_results results;
	struct run_live_of live;
	struct run_events events;
};

/* --- loop.c, run_totals.c --- */

/** Start jobs, wait, finish them, until all is over or the run is stopped. */
int run_loop(struct runner *r, struct hes_err *err);
/** Report the results of a run that has ended. The samples move to @out. */
int run_report(struct runner *r, struct hes_run_report *out, struct hes_err *err);

#endif
