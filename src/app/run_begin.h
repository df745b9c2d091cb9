/*
 * run_begin.h - begin a run of a jobs file or of a plan, or go on with one: options in, a request
 * for the runner out (heshare/run.h).
 *
 * In order: check, load (jobs, plan, GPUs), open (store, journal, which run, its folder), then
 * hes_run_carry_out() with the request, or head_run() for several nodes. The caller owns the
 * options, and closes the run, also after a failure.
 */
#ifndef HES_APP_RUN_BEGIN_H
#define HES_APP_RUN_BEGIN_H

#include <limits.h>

#include "app/jobs_file.h"
#include "app/planner.h"
#include "heshare/run.h"

#define RUN_STORE_WAIT_MS 2000 /* jobs' ends wait meanwhile */

/** NULL: the usual. */
struct app_run_options {
	/* What to plan a jobs file with. app, store, profiles and predictor count for plans, too.
	 */
	struct app_planner_options plan;
	const char *file; /* of jobs, or of a plan */
	const char *jobs; /* file of a plan's jobs, as they are now */
	const char *catalogue;
	struct jobs_file_commands commands;
	const char *folder; /* for the output of jobs; NULL: named after the file */
	const char *node;   /* run only its jobs */
	uint64_t share_sum; /* highest sum of shares of a batch, % */
	bool of_round;      /* a head of several nodes started this as the part of @node */
	bool on_nodes;      /* a head carries it out: no GPUs of this machine */
	bool dry_run;       /* nothing is opened or written */
	bool resume, resume_if_begun, restart;
	bool other_gpus; /* of the same types may stand for those of the plan */
};

/** All that a run is made of. */
struct app_run {
	const struct app_run_options *o;
	struct hes_catalogue catalogue;
	struct hes_fleet *fleet; /* of the plan */
	struct hes_jobs jobs;    /* each with its command */
	struct hes_plan plan;
	struct hes_devices *devices;
	long *gpus; /* one a GPU of the fleet: see fit_gpus() */
	struct hes_store *store;
	struct hes_journal *journal;
	struct hes_run run; /* id 0: a new one */
	char mps_folder[PATH_MAX];
	bool made_folder;                                                  /* that of the run */
	char plan_next[JOBS_FILE_PLAN_MAX], plan_file[JOBS_FILE_PLAN_MAX]; /* of a jobs file */
	const char *user; /* as whom jobs run; NULL: as this process */
	bool of_jobs;     /* of a jobs file: it is planned here, and again while it runs */
	bool resume;      /* an earlier run goes on */
	/* Private. */
	const char *node;
	uint64_t key;
	char host[64];
	struct hes_fleet planned_fleet;
	struct hes_profiles profiles;
	struct app_planner planner;
};

/** Find what kind of file it is, and refuse wrong usage. @return 0; -EINVAL, -ENOENT */
int app_run_check(struct app_run *r, const struct app_run_options *o, struct hes_err *err);

/** Read the plan, or plan the jobs, and open the GPUs of this machine. @return 0; -ENOENT a job
 * without a command, or nothing to resume; -EPERM jobs of others; errors of reading and planning */
int app_run_load(struct app_run *r, struct hes_err *err);

/**
 * Choose the run, new or old, and make its folders; not of a rehearsal.
 * @return 0; -EBUSY it goes on, or another run has a GPU; -EEXIST it was interrupted, and neither
 * resume nor restart is set; -EPERM others could replace its folder; errors of store and journal
 */
int app_run_open(struct app_run *r, struct hes_err *err);

/** Fill in the members of a request that follow from the run. */
void app_run_request(struct app_run *r, struct hes_run_request *q);

/** Profiles of the jobs, with what the run measured. */
const struct hes_profiles *app_run_profiles(struct app_run *r);

/** The measured ones of them, before the run and at its last planning. */
const struct hes_profiles *app_run_measured(const struct app_run *r);

/** What profiling took of what is measured of the jobs. @return as app_known_profiling() */
int app_run_profiling(const struct app_run *r, struct hes_store_profiling *out,
		      struct hes_err *err);

void app_run_close(struct app_run *r);

#endif
