/*
 * job_failures.h - why jobs of a run failed, in text and in JSON: how they ended and what they
 * printed last.
 */
#ifndef HES_CLI_RUN_JOB_FAILURES_H
#define HES_CLI_RUN_JOB_FAILURES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "heshare/journal.h"

/**
 * Print the first failed jobs.
 * @param folder   of the run
 * @param by_node  files of a job are in the folder NODE of it, by the name of its GPU
 * @param more     where the others are to be found: "report.json has their last lines"
 */
void job_failures_print(FILE *f, const struct hes_run_job *jobs, size_t n, const char *folder,
			bool by_node, const char *more);

/** @return null for a job that neither failed nor ended early */
json_t *job_failure_json(const struct hes_run_job *j, const char *folder, bool by_node);

#endif
