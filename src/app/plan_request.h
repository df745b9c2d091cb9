/*
 * plan_request.h - plan jobs by a policy: all at once, or those that wait while others run. Jobs
 * that nobody knows run alone, and the others are planned around them.
 */
#ifndef HES_APP_PLAN_REQUEST_H
#define HES_APP_PLAN_REQUEST_H

#include "app/known.h"
#include "heshare/policy.h"

#define APP_GUESS_US 600000000 /* run time of a job of which nothing is known */

/**
 * Plan all jobs of a request: waiting is filled in, and so is free_at_us unless it is set: all GPUs
 * are free then. Jobs that nobody knows and that have a command are planned as by
 * app_plan_around(); @front is of the others. Fills in hes_plan.known.
 * @param front  may be NULL
 * @return as hes_policy_plan(), and the plan is valid
 */
int app_plan_all(const struct hes_policy *policy, const struct hes_request *r,
		 const struct app_known *known, struct hes_plan *out, struct hes_front *front,
		 struct hes_err *err);

/** @return 0; -ENOSPC a job needs more memory than any GPU has */
int app_check_memory(const struct hes_fleet *f, const struct hes_jobs *jobs, struct hes_err *err);

/** Whether a job has a profile on the type of one of the GPUs. */
bool app_is_known(const struct hes_profiles *p, const struct hes_fleet *f,
		  const struct hes_job *job);

/**
 * Plan the waiting jobs of a request. A job without a profile gets a batch with `unknown` set: it
 * runs alone and unlocked, on the GPU on which it may end first. A GPU has such jobs before all
 * others. Running jobs may be unknown, too.
 * @param known   how long jobs without a profile may run; NULL: APP_GUESS_US
 * @param usable  one a GPU of the fleet: whether jobs may start there; NULL: on all
 * @param out     jobs that fit no usable GPU are not in it
 * @param front   of the jobs with a profile; may be NULL
 * @return as hes_policy_plan()
 */
int app_plan_around(const struct hes_policy *policy, const struct hes_request *r,
		    const struct app_known *known, const bool *usable, struct hes_plan *out,
		    struct hes_front *front, struct hes_err *err);

/**
 * A budget for planning again while jobs run: some tenths of a second for 60 jobs on 8 GPUs.
 * @return evaluations; 0: planning takes too long even so
 */
uint64_t app_replan_budget(const struct hes_policy *policy, size_t n_jobs, size_t n_gpus);

#endif
