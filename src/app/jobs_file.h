/*
 * jobs_file.h - a jobs file that is run without a plan of its own: its runs are found by its name,
 * and their plan is in their folder.
 */
#ifndef HES_APP_JOBS_FILE_H
#define HES_APP_JOBS_FILE_H

#include "heshare/job.h"
#include "app/jobs_changed.h"
#include "heshare/journal.h"
#include "heshare/plan.h"

#define JOBS_FILE_PLAN_MAX (HES_JOURNAL_PATH_MAX + 16)

/** Whether a file holds jobs and no plan: a plan is JSON. */
bool jobs_file_is(const char *path);

/** Refuse what is no file: a pipe is read once, and --resume finds a run by its file. @return 0;
 * -EINVAL */
int jobs_file_check(const char *path, struct hes_err *err);

/** Names the runs of a jobs file in the journal, whatever is in it. */
uint64_t jobs_file_key(const char *path);

/** Whether a run is one of a jobs file. */
bool jobs_file_has_run(const struct hes_run *run);

/** The file of a run's plan, in its folder, and where it is until the run is in the journal. */
void jobs_file_plan(const struct hes_run *run, char out[JOBS_FILE_PLAN_MAX]);
void jobs_file_plan_next(const struct hes_run *run, char out[JOBS_FILE_PLAN_MAX]);

/** The same of a run in the journal. Its plan is put in place if the runner was killed before it
 * did so. */
void jobs_file_plan_begun(const struct hes_run *run, char out[JOBS_FILE_PLAN_MAX]);

/**
 * Write the plan of a new run into its folder, as the next one, with the whole path of its jobs
 * file.
 * @return 0; -EEXIST the folder has the plan of another jobs file, whose run is not done; errors of
 * writing
 */
int jobs_file_save_plan(struct hes_journal *j, const struct hes_run *run,
			const struct hes_catalogue *c, const struct hes_plan *plan,
			const struct hes_fleet *fleet, struct hes_jobs *jobs, struct hes_err *err);

/** Where the commands of jobs without one of their own come from: see app_jobs_fill_commands(). */
struct jobs_file_commands {
	const char *list, *pattern;
	const char *progress; /* pattern of the jobs' progress lines; NULL: not given */
};

/**
 * The jobs of a file, each with its command; all arrive now.
 * @param planned  those of the run that goes on: a job that has no command now keeps its own;
 * NULL: a new run
 * @param begun  what that run has done; NULL for a new one
 * @return 0; as hes_jobs_load(); -ENOENT a job without a command; -ESTALE other jobs than @planned
 */
int jobs_file_load(const struct app *app, const char *path, const struct jobs_file_commands *c,
		   const struct hes_jobs *planned, const struct jobs_begun *begun,
		   struct hes_jobs *out, struct hes_err *err);

#endif
