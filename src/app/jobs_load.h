/*
 * jobs_load.h - jobs of a file, each with a command from a pattern, and sentences about what
 * nothing reads in the file.
 */
#ifndef HES_APP_JOBS_LOAD_H
#define HES_APP_JOBS_LOAD_H

#include <stdbool.h>
#include <stdio.h>

#include "app/app.h"
#include "heshare/job.h"

/**
 * hes_jobs_load_for(), with a sentence that names the columns that nothing reads.
 * @param pattern  of the jobs' commands; NULL: none
 * @param due      whether the policy reads deadlines
 */
int app_jobs_load(const struct app *app, const char *pattern, const char *path, bool due,
		  struct hes_jobs *out, struct hes_err *err);

/** Let all jobs arrive at time 0; deadlines keep their distance from the arrival. @return whether
 * their arrivals differed */
bool app_jobs_arrive_at_once(struct hes_jobs *jobs);

/** Say which jobs need more memory than their file says, some of them by name. */
void app_jobs_warn_memory(const struct app *app, const struct hes_jobs *jobs);

/**
 * Give each job without a command the pattern of its workload in the CSV file @list
 * (workload,command); else @pattern. Both may be NULL.
 * @return 0; -ENOENT a job is left without a command; errors of the file and of patterns
 */
int app_jobs_fill_commands(const struct app *app, struct hes_jobs *jobs, const char *list,
			   const char *pattern, struct hes_err *err);

/** Write a word in quotes for a shell. */
void app_put_quoted(FILE *f, const char *word);

/** Fill in {job}, {workload}, {batch}, {iterations} and {memory}. free() @out. @return 0; -EINVAL
 */
int app_command_words(const char *pattern, const struct hes_job *job, char **out,
		      struct hes_err *err);

#endif
