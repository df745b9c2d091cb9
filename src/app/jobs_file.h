/*
 * jobs_file.h - a jobs file that is run without a plan of its own: its runs are found by its name,
 * and their plan is in their folder. Also what differs between the jobs of a plan and their file.
 */
#ifndef HES_APP_JOBS_FILE_H
#define HES_APP_JOBS_FILE_H

#include <stdbool.h>

#include "app/app.h"
#include "heshare/job.h"
#include "heshare/journal.h"
#include "heshare/plan.h"

#define JOBS_FILE_PLAN_MAX (HES_JOURNAL_PATH_MAX + 16)

/** What a run that goes on has done of its jobs; none: it is new. */
struct jobs_begun {
	const struct hes_run_job *v;
	size_t n;
};

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

/**
 * Compare what running the jobs takes: workload, batch size, iterations, memory, user, command.
 * @param out  "job a differs in command; job b is new; job c is gone"; NULL: nothing differs.
 * free() it
 * @param others  whether jobs are new or gone
 * @return 0; -ENOMEM
 */
int jobs_changed(const struct hes_jobs *planned, const struct hes_jobs *now,
		 const struct jobs_begun *begun, char **out, bool *others, struct hes_err *err);

enum { JOBS_KEEP_COMMANDS = 1 << 0, JOBS_KEEP_PROGRESS = 1 << 1 };
/** Give jobs that were planned the memory that the plan knows as measured, and what @what names,
 * where they have none of their own. @return 0; -ENOMEM */
int jobs_keep(const struct hes_jobs *planned, struct hes_jobs *now, unsigned what,
	      struct hes_err *err);

/**
 * Say how a jobs file has changed since @plan was made from it.
 * @param file  name of the file, which counts in place of the plan's jobs; NULL: the one that the
 * plan names, if it is there, and the plan's jobs count
 * @return 0; -ENOMEM; -ESTALE @file lacks jobs of the plan, or has others. A file that the plan
 * names and that is not there, or of other jobs, is no error
 */
int jobs_changed_warn(const struct app *app, const char *plan, const struct hes_jobs *planned,
		      const char *file, struct hes_err *err);

#endif
