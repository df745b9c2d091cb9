/*
 * draw_jobs.h - the jobs that `heshare trace SOURCE --seed N` draws, for other commands.
 */
#ifndef HES_CLI_TRACE_DRAW_JOBS_H
#define HES_CLI_TRACE_DRAW_JOBS_H

#include "heshare/job.h"

/** @param out  written only on success; hes_jobs_free it. @return 0 or a negative errno */
int trace_draw_jobs(const char *source, uint64_t seed, struct hes_jobs *out, struct hes_err *err);

#endif
