/*
 * added.h - jobs that are added to a run while it goes on, or while it is interrupted.
 *
 * `heshare add` writes a job and its placement into the journal. Here it becomes a task: in its
 * GPU's queue before the job that the placement names, but behind all that were ever started. Jobs
 * of the plan stay where they are.
 */
#ifndef HES_RUN_ADDED_H
#define HES_RUN_ADDED_H

#include "run/plan_again.h"

struct run_intake {
	struct run_log *log;
	struct run_places *places;
	struct run_replans *replans;
	int64_t last;     /* id of the last added job among the tasks */
	bool unconfirmed; /* the journal does not say so yet */
};

/**
 * Take the jobs that were added since the last call into the queues, and say so in the journal.
 * @return 0; -errno of the journal: try again
 */
int run_take_added(struct run_intake *in, struct hes_err *err);

#endif
