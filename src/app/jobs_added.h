/*
 * jobs_added.h - place jobs that are added to a run among those that wait.
 */
#ifndef HES_APP_JOBS_ADDED_H
#define HES_APP_JOBS_ADDED_H

#include "app/known_files.h"
#include "app/run_view.h"

struct add_plan {
	const struct run_view *view;
	const struct hes_fleet *fleet; /* the GPUs of the run */
	const struct hes_plan
		*plan; /* for these: all jobs of the run, in the order of their queues */
	const struct hes_jobs
		*jobs; /* the plan's, those that were added before, then the new ones */
	size_t first_new;
	const struct hes_known *knowledge;
	int64_t now_us; /* of the run */
};

/**
 * Plan the new jobs. In open queues each goes to the best position; other jobs stay where they are.
 * Where queues have barriers, the plan's policy plans the new jobs behind all others.
 * @param rows     one a new job, by GPU and position, without their jobs' commands; free()
 * @param busy_us  for each of them: by how much it makes the planned busy time of its GPU longer;
 * free()
 * @return 0; -ENOENT a workload without a profile, or a policy that this heshare does not have;
 * -ENOSPC too little memory; -ERANGE a batch size that was not profiled; -EXFULL too many jobs at
 * once; -ENOMEM
 */
int add_plan_make(const struct add_plan *a, struct hes_run_added **rows, int64_t **busy_us,
		  struct hes_err *err);

#endif
