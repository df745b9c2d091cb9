/*
 * run_ending.h - the end of a run: its report goes into its folder and onto standard output.
 */
#ifndef HES_CLI_RUN_RUN_ENDING_H
#define HES_CLI_RUN_RUN_ENDING_H

#include <jansson.h>

#include "app/run_baseline.h"
#include "heshare/run.h"

struct run_ending {
	const struct hes_catalogue *catalogue;
	const struct hes_jobs *jobs;
	struct run_baseline_from from;
	const struct hes_store_profiling *profiling; /* of the jobs; NULL: it could not be read */
	bool json, early_ok;
};

/**
 * @param more  members for the report, used up; may be NULL
 * @return exit status
 */
int run_ending_tell(const struct run_ending *e, const struct hes_run_report *r, json_t *more);

#endif
