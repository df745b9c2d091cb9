/*
 * jobs_changed.h - what differs between the jobs of a plan and its jobs file as it is now.
 */
#ifndef HES_APP_JOBS_CHANGED_H
#define HES_APP_JOBS_CHANGED_H

#include <stdbool.h>

#include "app/app.h"
#include "heshare/job.h"
#include "heshare/journal.h"

/** What a run that goes on has done of its jobs; none: it is new. */
struct jobs_begun {
	const struct hes_run_job *v;
	size_t n;
};

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
