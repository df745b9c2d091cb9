/*
 * added.h - jobs that are added to a run while it goes on, or while it is interrupted.
 *
 * `heshare add` writes jobs into the journal. Here they become tasks without a place of their own:
 * each waits alone behind the others, until a plan that is made again places it.
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
