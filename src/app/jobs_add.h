/*
 * jobs_add.h - add the jobs of a file to a run that goes on, or is interrupted: options in, rows of
 * its journal out.
 *
 * A run of a jobs file places them itself. In a run of a plan they are placed here, and all other
 * jobs stay where they are. They are on the disk before the runner is waited for: it takes them
 * within a second, or at --resume. The caller closes what it added, also after a failure.
 */
#ifndef HES_APP_JOBS_ADD_H
#define HES_APP_JOBS_ADD_H

#include "app/jobs_file.h"
#include "app/known.h"
#include "app/run_view.h"

/** NULL: the usual. */
struct hes_app_add_options {
	const struct hes_app *app;
	int64_t run;
	const char *jobs; /* their file */
	struct jobs_file_commands commands;
	const char *catalogue, *store, *predictor, *profiles;
	bool default_clock; /* plan with the default clocks alone */
};

enum hes_app_taken { HES_APP_TAKEN, HES_APP_TAKEN_LATER, HES_APP_TAKEN_AT_RESUME };

struct hes_app_add {
	const struct hes_app_add_options *o;
	struct run_view view;       /* of the run, before the jobs were added */
	struct hes_jobs new;        /* the jobs of the file, each with its command */
	struct hes_run_added *rows; /* [new.n], by GPU and position; "" as GPU: not placed yet */
	enum hes_app_taken taken;   /* whether the runner has them */
	/* Private to jobs_add*.c. */
	struct hes_store *store;
	struct hes_journal *journal;
	struct hes_catalogue catalogue;
	struct hes_fleet fleet, mine; /* of the plan; its GPUs of the run */
	struct hes_jobs planned;
	struct hes_run_added *before; /* added before */
	size_t n_before;
	struct hes_plan plan, merged; /* of the file; of the run's GPUs, with those added before */
	struct hes_jobs all; /* planned, before, new; what they refer to belongs to these */
	struct hes_known known;
	int64_t *busy_us; /* [new.n] by how much each makes the busy time of its GPU longer */
};

/**
 * @return 0, and the jobs are in the journal; -ESHUTDOWN the run is over; -ENOTSUP it is on several
 * nodes; -ESTALE its plan changed; -EEXIST it has a job of this name; -EPERM a job with a user of
 * its own, or others can change the store; as jobs_add_place()
 */
int hes_app_jobs_add(struct hes_app_add *a, const struct hes_app_add_options *o,
		     struct hes_err *err);

/** Wait until the runner has them, or is gone. @return 0, and taken is set; -ETIMEDOUT; errors of
 * the journal */
int hes_app_jobs_await(struct hes_app_add *a, struct hes_err *err);

void hes_app_add_close(struct hes_app_add *a);

/**
 * Private to jobs_add*.c: place the new jobs, and fill in rows and busy_us. In open queues each
 * goes to the best position. Where queues have barriers, the plan's policy plans them behind all
 * others.
 * @return 0; -ENOENT a workload without a profile, or a policy that this heshare does not have;
 * -ENOSPC too little memory; -ERANGE a batch size that was not profiled; -EXFULL too many jobs at
 * once; -ENOMEM
 */
int jobs_add_place(struct hes_app_add *a, struct hes_err *err);

#endif
