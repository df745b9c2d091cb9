/*
 * command_words.h - a job's command from a pattern.
 */
#ifndef HES_APP_COMMAND_WORDS_H
#define HES_APP_COMMAND_WORDS_H

#include "heshare/job.h"

/** Fill in {job}, {workload}, {batch}, {iterations} and {memory}. free() @out. @return 0; -EINVAL
 */
int app_command_words(const char *pattern, const struct hes_job *job, char **out,
		      struct hes_err *err);

#endif
