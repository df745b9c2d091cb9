/*
 * progress.h - the progress of a job, from the lines that it prints: "heshare: N iterations", or
 * "heshare: N iterations in T s"; N and T count from the job's start (docs/running.md,
 * docs/profiling.md). A pattern may find the count in other lines.
 */
#ifndef HES_LAUNCH_PROGRESS_H
#define HES_LAUNCH_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/count_pattern.h"
#include "heshare/err.h"
#include "launch/job_files.h"

#define HES_PROGRESS_LINE_MAX HES_COUNT_LINE_MAX
#define HES_PROGRESS_SEARCHES 4096 /* lines that are searched in one look at an output */

/** The count of a job's lines so far; all zero before the first one. */
struct hes_progress_count {
	bool own;              /* lines of heshare's own form came: only these count */
	uint64_t before, last; /* what a pattern found: of ended epochs, of the last line */
	unsigned left;         /* lines that may still be searched in this look */
};

/** Reader of a file that a job appends to. All zero with fd -1: none. */
struct hes_progress {
	int fd;
	bool known;                       /* iterations is valid */
	struct hes_count_pattern pattern; /* as of hes_count_pattern_make(), or none */
	struct hes_progress_count count;
	bool several;        /* there were at least two progress lines */
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
 * The same with a pattern, which counts from 0 in each epoch: where a count is below the last one,
 * what came before is added to it. @seconds is NaN of its lines.
 */
bool hes_progress_find(struct hes_progress_count *c, const struct hes_count_pattern *p,
		       const char *line, uint64_t *iterations, double *seconds);

/**
 * Read from @offset of the file on; @f and @name as in hes_job_file_read().
 * @param pattern  of the job's lines; NULL: none
 * @return 0; -ENOENT, -EACCES; -EINVAL no plain file, or no pattern
 */
int hes_progress_open(struct hes_progress *out, const struct hes_job_folder *f, const char *name,
		      uint64_t offset, const char *pattern, struct hes_err *err);
/** Read what was appended. @return 1 there was a progress line; 0 there was none; -EIO */
int hes_progress_read(struct hes_progress *p);
void hes_progress_close(struct hes_progress *p);

#define HES_PROGRESS_HINT_MAX 560
/**
 * Say why there may be no progress lines in the output of a job: which line is wanted, what came,
 * and what holds output back.
 * @param pattern  of the job's lines; NULL: none
 * @param bytes  that came
 * @param last   of them: a line, which may have no end yet; "": none
 */
void hes_progress_hint(const char *pattern, uint64_t bytes, const char *last,
		       char out[HES_PROGRESS_HINT_MAX]);

#endif
