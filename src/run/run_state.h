/*
 * run_state.h - a run in progress: the owners of its state, each with a file of its own, and how
 * they know each other. run.c makes it; the files that are named below see all of it.
 */
#ifndef HES_RUN_RUN_STATE_H
#define HES_RUN_RUN_STATE_H

#include "run/job_set.h"
#include "run/learner.h"
#include "run/plan_again.h"
#include "run/power_cap.h"
#include "run/verdict.h"

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
	struct run_events events;
	bool begun, starts_reported; /* start_jobs.c: the first jobs were started; one cannot be */
	const char *unmatched;       /* children.c: pattern that was last said to match no line */
};

/* --- loop.c, run_totals.c --- */

/** Start jobs, wait, finish them, until all is over or the run is stopped. */
int run_loop(struct runner *r, struct hes_err *err);
/** Report the results of a run that has ended. The samples move to @out. */
int run_report(struct runner *r, struct hes_run_report *out, struct hes_err *err);

/* --- start_jobs.c --- */

/**
 * Start all jobs that may start. A start that is impossible for now is reported and tried again.
 * @param plan_near  a plan is being made: jobs without a place wait for it
 * @return whether a job cannot be started at all: run_finish() has work
 */
bool run_start(struct runner *r, bool plan_near);

/* --- children.c: the processes of jobs, watched, ended, killed, reaped --- */

/** Wait for the end of a child that was let go. @return 0 or -errno */
int run_watch(struct runner *r, struct run_task *t);
/** Read what the jobs of a GPU have printed and use; end one that uses too much memory. */
void run_children_look(struct runner *r, struct run_gpu *g, int64_t now);
/** Request a task to end, or kill it if that was done before. */
void run_end(struct runner *r, struct run_task *t, enum run_ending why);
/** Note when a task ended, by its status file: this program may have been stopped since. Call it
 * for all that ended before one of them is taken in. */
void run_note_end(struct runner *r, struct run_task *t);
/** Take in the end of a task and of all that it left running; else look again soon. */
void run_reap(struct runner *r, struct run_task *t);
/** A task was killed long ago and is still there: set its GPU aside, the others go on. */
void run_set_aside(struct runner *r, struct run_task *t);

/* --- result.c: results into the journal --- */

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

/* --- live.c --- */

/** Time that the run still takes, by the plan and by how it went so far, us; 0: not known, as with
 * unknown jobs. */
int64_t run_left_us(const struct runner *r, int64_t now);
/** Write live.json, which `heshare status` reads, as the run is at @now. */
void run_live_write(const struct runner *r, int64_t now);

#endif
