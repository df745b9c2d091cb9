/*
 * planner.h - plan the jobs of a file for GPUs, and the waiting ones of a run again while it goes
 * on: options in, a plan out.
 *
 * In order: check the options, find the GPUs, plan. Or resume a plan, to plan again as it was
 * planned. The caller owns catalogue, jobs and plan; the planner owns the rest until it is closed.
 */
#ifndef HES_APP_PLANNER_H
#define HES_APP_PLANNER_H

#include "app/gpus_chosen.h"
#include "app/known.h"
#include "app/policy_program.h"
#include "heshare/policy.h"
#include "heshare/run.h"

/** What to plan for, and with what. NULL: the usual. */
struct app_planner_options {
	const struct app *app;
	const char *gpus;   /* of this machine, as gpus_choose() takes them */
	const char *fleet;  /* file of a fleet, in place of GPUs */
	const char *policy; /* NULL: joint. "exec:PROGRAM" only where it plans once */
	const char *prefer, *predictor, *profiles, *store;
	const char *budget; /* of a search: "200ms", "5s", or evaluations */
	double power_cap_w; /* 0: none */
	double exec_limit_s;
	uint64_t seed;
	bool of_run;               /* it plans again while jobs run */
	hes_progress_fn *progress; /* of a search in parts; its context is the policy */
};

struct app_planner {
	const struct app_planner_options *o;
	struct hes_catalogue *catalogue; /* of the GPUs' types: their clocks are fitted */
	const struct hes_policy *policy;
	const char *prefer;
	struct hes_fleet *fleet;      /* to plan for */
	struct gpus_fleet gpus;       /* of this machine, or given: then it owns the fleet */
	struct app_known known;       /* without what was measured; changes while a run goes on */
	struct hes_profiles measured; /* before the run, and what each planning found */
	double planned_s;             /* how long planning took */
	/* Private. */
	struct hes_fleet file;
	struct policy_program *program;
	uint64_t seed, power_cap_mw, evaluations;
	double search_s, from_s;
	/* Of app_planner_keep(), loaded when the first job is added. */
	const struct hes_plan *plan;
	const char *types_file;
	struct hes_catalogue types;
	struct hes_fleet own;       /* n 0: nothing is loaded yet */
	struct hes_gpu_type *alone; /* types of its GPUs that run one job at a time */
};

/** Refuse a policy, preference or limit that is not there. @return 0; -EINVAL, -ENOENT: wrong usage
 */
int app_planner_check(struct app_planner *p, struct hes_err *err);

/** The GPUs: of this machine, of the file, or those that are in @p already. @return 0; errors of
 * gpus_fleet_load(), app_fleet_load(), app_cap_check() */
int app_planner_gpus(struct app_planner *p, struct hes_err *err);

/**
 * Load what is known of the jobs, and plan all of them. They wait now.
 * @param front  of a policy that makes one; may be NULL
 * @return 0; errors of loading what is known and of planning; -ENOSPC a job that fits no GPU
 */
int app_plan(struct app_planner *p, struct hes_jobs *jobs, struct hes_plan *out,
	     struct hes_front *front, struct hes_err *err);

/** Plan on as a plan was made, on its GPUs. What is known of its jobs is loaded. */
int app_planner_resume(struct app_planner *p, const struct hes_plan *plan, struct hes_fleet *fleet,
		       struct hes_jobs *jobs, struct hes_err *err);

/**
 * Only place jobs that are added to a run of a plan. Nothing is loaded before there are such jobs,
 * and then GPU types of its own: the runner reads those of @fleet meanwhile.
 * @param catalogue  its file; NULL: none
 */
void app_planner_keep(struct app_planner *p, const struct hes_plan *plan, struct hes_fleet *fleet,
		      const char *catalogue);

/** hes_run_replan_fn; @ctx is the planner. A run of a plan calls app_planner_keep() first. */
int app_plan_again(void *ctx, const struct hes_run_now *now, struct hes_plan *out,
		   struct hes_err *err);

/** What is known now, after the run. */
const struct hes_profiles *app_planner_profiles(struct app_planner *p, const struct hes_jobs *jobs);

void app_planner_close(struct app_planner *p);

#endif
