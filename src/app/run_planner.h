/*
 * run_planner.h - plan the jobs of a run: all of a jobs file at its start, and those that wait
 * while it goes on.
 */
#ifndef HES_APP_RUN_PLANNER_H
#define HES_APP_RUN_PLANNER_H

#include "app/gpus_chosen.h"
#include "app/known_files.h"
#include "heshare/policy.h"
#include "heshare/run.h"

/** What to plan with, of the command line. NULL: the usual. */
struct run_planner_options {
	const struct hes_app *app;
	hes_progress_fn *progress; /* of the first planning; its context is the policy */
	const char *gpus, *policy, *prefer, *predictor, *profiles, *store;
	double power_cap_w; /* 0: none */
};

struct run_planner {
	const struct run_planner_options *o;
	const struct hes_catalogue *catalogue;
	const struct hes_policy *policy;
	const char *prefer;
	uint64_t seed, power_cap_mw;
	struct gpus_fleet gpus;  /* of this machine */
	struct hes_fleet *fleet; /* of the run */
	bool owns_fleet;
	struct hes_known known;       /* without what was measured; changes while the run goes on */
	struct hes_profiles measured; /* before the run, and what each planning found */
};

/** Refuse a policy or preference that is not there. @return 0; -EINVAL, -ENOENT: wrong usage */
int run_planner_check(struct run_planner *p, struct hes_err *err);

/** The GPUs of this machine that can be used. @param fleet  is set; the planner owns what is in it
 */
int run_planner_gpus(struct run_planner *p, struct hes_fleet *fleet, struct hes_err *err);

/**
 * Plan all jobs of a file, and say how much is known of them.
 * @return 0; errors of loading what is known and of planning; -ENOSPC a job that fits no GPU
 */
int run_planner_first(struct run_planner *p, struct hes_jobs *jobs, struct hes_plan *out,
		      struct hes_err *err);

/** Plan on as a plan was made, on its GPUs. What is known of its jobs is loaded. */
int run_planner_resume(struct run_planner *p, const struct hes_plan *plan, struct hes_fleet *fleet,
		       struct hes_jobs *jobs, struct hes_err *err);

/** hes_run_replan_fn; @ctx is the planner. */
int run_planner_again(void *ctx, const struct hes_run_now *now, struct hes_plan *out,
		      struct hes_err *err);

/** What is known now, after the run. */
const struct hes_profiles *run_planner_profiles(struct run_planner *p, const struct hes_jobs *jobs);

void run_planner_close(struct run_planner *p);

#endif
