/*
 * plan_again.h - plan the waiting jobs again while a run goes on.
 *
 * The planner is a function of the request: this file says when, and shows it what runs and waits.
 * It works in a thread of its own while jobs run, on copies, and what has changed meanwhile counts.
 * Jobs that run stay where they are.
 */
#ifndef HES_RUN_PLAN_AGAIN_H
#define HES_RUN_PLAN_AGAIN_H

#include "run/learner.h"
#include "run/run_place.h"

#define RUN_WHY_MAX 120

struct run_replans {
	const struct hes_run_request *q;
	struct run_log *log;
	struct run_tasks *tasks;
	struct run_gpus *gpus;
	struct run_places *places;
	struct run_learner *learner; /* takes surprises */
	int epoll;
	bool due;
	char why[RUN_WHY_MAX];
	int64_t not_before_us, idle_not_before_us; /* the latter while a GPU has nothing to do */
	bool failed;                               /* the last time; reported */
	struct run_planning *planning;             /* a plan that is being made */
	bool made;                                 /* it is made, and not taken yet */
	int64_t last_added;                        /* id of the last added job among the tasks */
	bool added_unconfirmed;                    /* the journal does not say so yet */
};

/** Plan again as soon as may be; @why is a clause. */
void run_replan_want(struct run_replans *p, const char *why);
/** The same, without a pause since the last plan. */
void run_replan_want_now(struct run_replans *p, const char *why);
/** A job is over. */
void run_replan_ended(struct run_replans *p, struct run_task *t);
/** Look for running jobs that differ from the plan. */
void run_replan_look(struct run_replans *p, int64_t now);
/** When to plan again; RUN_NEVER_US: nothing asks for it. */
int64_t run_replan_time(const struct run_replans *p);
/** Whether a plan is being made, or is to be made now. */
bool run_replan_is_near(const struct run_replans *p);
/** The event that a plan is made. */
void run_replan_made(struct run_replans *p);
/** Wait for a plan that is being made, and drop it. */
void run_replan_stop(struct run_replans *p);
/** Take a plan that is made, and begin another if it is time. Without a planner, jobs of lost GPUs
 * move. @return 0; -ENOMEM; errors of the journal */
int run_replan(struct run_replans *p, struct hes_err *err);

/**
 * Take the jobs that `heshare add` wrote into the journal since the last call as tasks, and say so
 * there. Each waits alone behind the others, until a plan that is made again places it.
 * @return 0; -errno of the journal: try again
 */
int run_take_added(struct run_replans *p, struct hes_err *err);

#endif
