/*
 * progress.h - the progress of a job, from the lines that it prints: "heshare: N iterations", or
 * "heshare: N iterations in T s"; N and T count from the job's start (docs/running.md,
 * docs/profiling.md).
 */
#ifndef HES_LAUNCH_PROGRESS_H
#define HES_LAUNCH_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"
#include "launch/job_files.h"

#define HES_PROGRESS_LINE_MAX 80

/** Reader of a file that a job appends to. All zero with fd -1: none. */
struct hes_progress {
	int fd;
	bool known;          /* iterations is valid */
	bool several;        /* there were at least two progress lines */
	bool skipping;       /* inside a line that is too long for a progress line */
	uint64_t iterations; /* of the last progress line */
	double seconds;      /* the same; NaN: it has none */
	uint64_t step;  /* most iterations from one line to the next; of a single line, its own */
	uint64_t bytes; /* read so far */
	size_t used;
	char line[HES_PROGRESS_LINE_MAX + 1];      /* the last line, as long as it has no end */
	char last_line[HES_PROGRESS_LINE_MAX + 1]; /* the last other one, cut; "": none */
};

/**
 * Parse a line. @seconds is NaN where the line has none.
 * @return whether it is a progress line; the outputs are written only then
 */
bool hes_progress_parse(const char *line, uint64_t *iterations, double *seconds);

/**
 * Read from @offset of the file on; @f and @name as in hes_job_file_read().
 * @return 0; -ENOENT, -EACCES; -EINVAL no plain file
 */
int hes_progress_open(struct hes_progress *out, const struct hes_job_folder *f, const char *name,
		      uint64_t offset, struct hes_err *err);
/** Read what was appended. @return 1 there was a progress line; 0 there was none; -EIO */
int hes_progress_read(struct hes_progress *p);
void hes_progress_close(struct hes_progress *p);

#define HES_PROGRESS_HINT_MAX 480
/**
 * Say why there may be no progress lines in the output of a job: which line is wanted, what came,
 * and what holds output back.
 * @param bytes  that came
 * @param last   of them: a line, which may have no end yet; "": none
 */
void hes_progress_hint(uint64_t bytes, const char *last, char out[HES_PROGRESS_HINT_MAX]);

#endif
