/*
 * jobs_commands.h - a command for each job.
 */
#ifndef HES_APP_JOBS_COMMANDS_H
#define HES_APP_JOBS_COMMANDS_H

#include "app/app.h"
#include "heshare/job.h"

/**
 * Give each job without a command the pattern of its workload in the CSV file @list
 * (workload,command); else @pattern. Both may be NULL.
 * @return 0; -ENOENT a job is left without a command; errors of the file and of patterns
 */
int app_jobs_fill_commands(const struct hes_app *app, struct hes_jobs *jobs, const char *list,
			   const char *pattern, struct hes_err *err);

#endif
