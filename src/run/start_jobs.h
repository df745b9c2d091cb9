/*
 * start_jobs.h - start jobs that may start; the names of their files.
 */
#ifndef HES_RUN_START_JOBS_H
#define HES_RUN_START_JOBS_H

#include "run/run_state.h"

#define RUN_FILE_NAME_MAX (3 * HES_NAME_MAX + 32)

/**
 * Start all jobs that may start. A start that is impossible for now is reported and tried again.
 * @return whether a job cannot be started at all: run_finish() has work
 */
bool run_start(struct runner *r);

/** Names of a job's files in the run's folder: its output, and the status of an attempt. */
void run_output_name(const char *job, char out[RUN_FILE_NAME_MAX]);
void run_status_name(const char *job, uint32_t number, char out[RUN_FILE_NAME_MAX]);

#endif
