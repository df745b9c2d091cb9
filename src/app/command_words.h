/*
 * command_words.h - a job's command from a pattern, and words for a shell.
 */
#ifndef HES_APP_COMMAND_WORDS_H
#define HES_APP_COMMAND_WORDS_H

#include <stdio.h>

#include "heshare/job.h"

/** Write a word in quotes for a shell. */
void app_put_quoted(FILE *f, const char *word);

/** Fill in {job}, {workload}, {batch}, {iterations} and {memory}. free() @out. @return 0; -EINVAL
 */
int app_command_words(const char *pattern, const struct hes_job *job, char **out,
		      struct hes_err *err);

#endif
