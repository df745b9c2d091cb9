/*
 * progress.h - how far a job is, from what it prints: lines "heshare: N iterations", N counted
 * from the job's start, perhaps with " in T s" behind it (docs/running.md, docs/profiling.md).
 */
#ifndef HES_LAUNCH_PROGRESS_H
#define HES_LAUNCH_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"
#include "launch/job_files.h"

#define HES_PROGRESS_LINE_MAX 80

/** Reader of a file that somebody else appends to. Zero with fd -1 is none. */
struct hes_progress {
	int      fd;
	bool     told;                          /* iterations is valid */
	bool     skipping;                      /* within a line too long to be one of ours */
	uint64_t iterations;                    /* of the last line */
	uint64_t first_iterations;              /* of the first line */
	size_t   used;
	char     line[HES_PROGRESS_LINE_MAX];   /* what is there of the line that is not complete yet */
};

/** From @offset of the file on; @f and @name as hes_job_file_read has them. @return 0; -ENOENT, -EACCES; -EINVAL no plain file */
int hes_progress_open(struct hes_progress *out, const struct hes_job_folder *f, const char *name, uint64_t offset,
		      struct hes_err *err);
/** Read what was added. @return 1 the job told something new; 0 it did not; -EIO */
int hes_progress_read(struct hes_progress *p);
void hes_progress_close(struct hes_progress *p);

#endif
