/*
 * resume.h - take over what the journal and the files say of a run that was begun before. The guard
 * has ended the jobs of the earlier process, so no job runs.
 */
#ifndef HES_RUN_RESUME_H
#define HES_RUN_RESUME_H

#include "run/verdict.h"

struct run_resume {
	struct run_log *log;
	struct run_tasks *tasks;
	struct run_gpus *gpus;
	struct run_judge *judge;
	const struct hes_undone *repaired; /* what the earlier process had left */
	const char *boot;                  /* of this machine */
	bool early_ok;                     /* of the request */
	uint32_t session;                  /* set: the number of this process among the run's */
};

int run_take_over(struct run_resume *x, struct hes_err *err);

/** The run goes on after the last time that the journal has. */
int run_resume_clock(const struct run_log *log, struct run_clock *clock, struct hes_err *err);

#endif
