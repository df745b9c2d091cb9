/*
 * inputs.h - load jobs and a fleet, check its power cap, and move arrivals to time 0.
 */
#ifndef HES_CLI_INPUTS_INPUTS_H
#define HES_CLI_INPUTS_INPUTS_H

#include <stdbool.h>

#include "heshare/fleet.h"
#include "heshare/job.h"

/** A fleet file; @path NULL: the HeShare paper's eight GPUs. */
int cli_fleet_load(const char *path, const struct hes_catalogue *c, struct hes_fleet *out,
		   struct hes_err *err);

/** Refuse a power cap below what an idle fleet draws: no plan can keep it. @param cap_w  W; 0:
 * none. @return 0; -ERANGE */
int cli_cap_check(double cap_w, const struct hes_fleet *f, struct hes_err *err);

/**
 * hes_jobs_load(), with a warning on standard error that names the columns that nothing reads.
 * @param command  that warns, "plan"
 * @param pattern  of the jobs' commands; NULL: none
 * @param due      whether it reads deadlines
 */
int cli_jobs_load(const char *command, const char *pattern, const char *path, bool due,
		  struct hes_jobs *out, struct hes_err *err);

/** A row of an option table. @param where  offset of a const char * */
#define CLI_PROGRESS_OPT(where)                                                                  \
	{                                                                                        \
		.name = "progress", .kind = OPT_TEXT, .offset = (where), .arg = "REGEX",         \
		.help = "count the iterations of a job in the lines that match REGEX, with one " \
			"group around the count: '(\\d+)/\\d+', 'step (\\d+)'; lines "           \
			"\"heshare: N iterations\" always count"                                 \
	}

/** Let all jobs arrive at time 0; deadlines keep their distance from the arrival. */
void cli_arrive_at_once(struct hes_jobs *jobs);

/** Warn on standard error of jobs that need more memory than their file says, some of them by name.
 */
void cli_jobs_warn_memory(const char *command, const struct hes_jobs *jobs);

/** hes_progress_fn: cli_progress() of a search in cells. @param policy  struct hes_policy */
void cli_plan_progress(void *policy, size_t done, size_t of);

#endif
