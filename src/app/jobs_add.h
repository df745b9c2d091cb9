/*
 * jobs_add.h - add the jobs of a file to a run that goes on, or is interrupted: options in, rows of
 * its journal out.
 *
 * The run plans them (planner.h). They are on the disk before the runner is waited
 * for: it takes them within a second, or at --resume. The caller closes what it added, also after a
 * failure.
 */
#ifndef HES_APP_JOBS_ADD_H
#define HES_APP_JOBS_ADD_H

#include "app/jobs_file.h"
#include "app/run_view.h"

/** NULL: the usual. */
struct app_add_options {
	const struct app *app;
	int64_t run;
	const char *jobs; /* their file */
	struct jobs_file_commands commands;
	const char *catalogue, *store;
};

enum app_taken { APP_TAKEN, APP_TAKEN_LATER, APP_TAKEN_AT_RESUME };

struct app_add {
	const struct app_add_options *o;
	struct run_view view; /* of the run, before the jobs were added */
	struct hes_jobs new;  /* the jobs of the file, each with its command */
	enum app_taken taken; /* whether the runner has them */
	/* Private. */
	struct hes_store *store;
	struct hes_journal *journal;
	struct hes_catalogue catalogue;
	struct hes_fleet fleet;              /* of the plan */
	struct hes_jobs planned;             /* its jobs */
	struct hes_run_added *before, *rows; /* added before; [new.n] */
	size_t n_before;
};

/**
 * @return 0, and the jobs are in the journal; -ESHUTDOWN the run is over; -ENOTSUP it is on several
 * nodes; -ESTALE its plan changed; -EEXIST it has a job of this name; -EPERM a job with a user of
 * its own, or others can change the store; -ENOSPC more memory than a GPU has
 */
int app_jobs_add(struct app_add *a, const struct app_add_options *o, struct hes_err *err);

/** Wait until the runner has them, or is gone. @return 0, and taken is set; -ETIMEDOUT; errors of
 * the journal */
int app_jobs_await(struct app_add *a, struct hes_err *err);

void app_add_close(struct app_add *a);

#endif
