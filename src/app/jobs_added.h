/*
 * jobs_added.h - place jobs that are added to a run of a plan. All other jobs stay where they are.
 *
 * In open queues each new job goes to the best position. Where queues have barriers, or nothing is
 * known of a new job, the new jobs are planned behind those that wait.
 */
#ifndef HES_APP_JOBS_ADDED_H
#define HES_APP_JOBS_ADDED_H

#include "app/plan_request.h"
#include "heshare/run.h"

/**
 * @param policy  of the plan; NULL: a program's, which plans once
 * @param r       what is known, the preference and the seed
 * @param now     its waiting jobs are the new ones
 * @param out     the new jobs; in open queues those that stay, too, in their order
 * @return 0; -ENOTSUP there is no policy to plan with; errors of planning
 */
int jobs_added_plan(const struct hes_policy *policy, const struct hes_request *r,
		    const struct hes_known *known, const struct hes_run_now *now,
		    struct hes_plan *out, struct hes_err *err);

#endif
