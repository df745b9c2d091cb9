/*
 * jobs_commands.h - the commands of the jobs of `heshare run`.
 */
#ifndef HES_APP_JOBS_COMMANDS_H
#define HES_APP_JOBS_COMMANDS_H

#include "app/app.h"
#include "heshare/job.h"

/**
 * One command a job: its own; else the pattern of its workload in the CSV file @list
 * (workload,command); else @pattern.
 * @param out   run_commands_free() it with @jobs->n
 * @return 0; -ENOENT a job without a command
 */
int run_commands_load(const struct hes_app *app, const struct hes_jobs *jobs, const char *list,
		      const char *pattern, char ***out, struct hes_err *err);
void run_commands_free(char **commands, size_t n);

#endif
