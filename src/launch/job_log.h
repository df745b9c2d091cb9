/*
 * job_log.h - the output of a job on its way to the log: it never makes the job wait for room or
 * fail, and the log has a bound.
 *
 * Up to half of the bound the log has everything. From there on it has progress lines, one a second
 * at most, and at the job's end the last 64 KiB. Bytes that the disk has no room for are left out.
 * In each place a line in brackets says so.
 */
#ifndef HES_LAUNCH_JOB_LOG_H
#define HES_LAUNCH_JOB_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "launch/progress.h"

#define JOB_LOG_TAIL 65536

struct job_log {
	int from; /* what the job writes; -1: closed */
	int to;   /* the log, opened to append to */
	uint64_t max, written;
	uint64_t lost;           /* bytes since the last one that could be written */
	int error;               /* why */
	char tail[JOB_LOG_TAIL]; /* the last bytes, in a ring */
	uint64_t after;          /* bytes behind the bound: all of them went to the ring */
	char line[HES_PROGRESS_LINE_MAX + 1];
	size_t used;
	struct hes_count_pattern pattern;
	struct hes_progress_count count;
	double progress_s; /* hes_monotonic_s() of the last progress line behind the bound */
	double searched_s; /* when count.left was set */
};

/** Begin to pass on to @to at most @max bytes; 0: all. @pattern  of the job's progress lines;
 * NULL: none. @return a descriptor for the job to write to, which the caller closes; -errno */
int job_log_open(struct job_log *l, int to, uint64_t max, const char *pattern);
/** Pass on what the job has written, without waiting for more. */
void job_log_pass(struct job_log *l);
/** The same, until nothing is left to read; a few MiB at most. */
void job_log_pass_all(struct job_log *l);
/** The job has ended: pass on the rest and the last bytes. */
void job_log_finish(struct job_log *l);

#endif
