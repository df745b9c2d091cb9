/*
 * run_state.h - a run in progress: the owners of its state, each with a file of its own, and how
 * they know each other. run.c makes it; the files that are named below see all of it.
 */
#ifndef HES_RUN_RUN_STATE_H
#define HES_RUN_RUN_STATE_H

#include "run/job_set.h"
#include "run/learner.h"
#include "run/run_place.h"

/* loop.c */
struct run_events {
	int epoll, signals;
	int64_t look_us; /* when to read progress */
};

#define RUN_WHY_MAX 120

/* plan_again.c */
struct run_replans {
	bool due;
	char why[RUN_WHY_MAX];
	int64_t not_before_us, idle_not_before_us; /* the latter while a GPU has nothing to do */
	bool failed;                               /* the last time; reported */
	struct run_planning *planning;             /* a plan that is being made */
	bool made;                                 /* it is made, and not taken yet */
	int64_t last_added;                        /* id of the last added job among the tasks */
	bool added_unconfirmed;                    /* the journal does not say so yet */
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

/* --- verdict.c: the verdict on an attempt that has ended, and whether its task is tried again ---
 *
 * What is seen of the attempt goes through the rules of failure_rules.h. Jobs that ran with others
 * when they failed are judged together, once enough is known. */

/** Judge the jobs of a GPU that ran together when one failed, once enough is known. */
void run_judge_gpu(struct runner *r, struct run_gpu *g);
/** Judge an ended task by itself. @return false: its co-runners must be seen, too */
bool run_judge_alone(struct runner *r, struct run_task *t);
/** Judge a task that cannot be started. @param again  it is tried again */
void run_judge_not_started(struct runner *r, struct run_task *t, bool again,
			   const struct hes_err *why);
/**
 * The verdict on a job that ended with 0: whether its work is done. If not, t->seen says what was
 * seen.
 */
enum hes_verdict run_judge_work_of(struct runner *r, struct run_task *t);
/** Decide whether a judged task is tried again, and report it once. */
void run_decide(struct runner *r, struct run_task *t);

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

/* --- plan_again.c: plan the waiting jobs again while a run goes on ---
 *
 * The planner is a function of the request: this file says when, and shows it what runs and waits.
 * It works in a thread of its own while jobs run, on copies, and what has changed meanwhile counts.
 * Jobs that run stay where they are. */

/** Plan again as soon as may be; @why is a clause. */
void run_replan_want(struct runner *r, const char *why);
/** The same, without a pause since the last plan. */
void run_replan_want_now(struct runner *r, const char *why);
/** A job is over. */
void run_replan_ended(struct runner *r, struct run_task *t);
/** Look for running jobs that differ from the plan. */
void run_replan_look(struct runner *r, int64_t now);
/** When to plan again; RUN_NEVER_US: nothing asks for it. */
int64_t run_replan_time(const struct runner *r);
/** Whether a plan is being made, or is to be made now. */
bool run_replan_is_near(const struct runner *r);
/** The event that a plan is made. */
void run_replan_made(struct runner *r);
/** Wait for a plan that is being made, and drop it. */
void run_replan_stop(struct runner *r);
/** Take a plan that is made, and begin another if it is time. Without a planner, jobs of lost GPUs
 * move. @return 0; -ENOMEM; errors of the journal */
int run_replan(struct runner *r, struct hes_err *err);

/**
 * Take the jobs that `heshare add` wrote into the journal since the last call as tasks, and say so
 * there. Each waits alone behind the others, until a plan that is made again places it.
 * @return 0; -errno of the journal: try again
 */
int run_take_added(struct runner *r, struct hes_err *err);

/* --- resume.c --- */

/** Take over what the journal and the files say of a run that was begun before. The guard has ended
 * the jobs of the earlier process, so no job runs. @param repaired  what that process had left */
int run_take_over(struct runner *r, const struct hes_undone *repaired, struct hes_err *err);
/** The run goes on after the last time that the journal has. */
int run_resume_clock(struct runner *r, struct hes_err *err);

/* --- live.c --- */

/** Time that the run still takes, by the plan and by how it went so far, us; 0: not known, as with
 * unknown jobs. */
int64_t run_left_us(const struct runner *r, int64_t now);
/** Write live.json, which `heshare status` reads, as the run is at @now. */
void run_live_write(const struct runner *r, int64_t now);

#endif
