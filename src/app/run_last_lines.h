/*
 * run_last_lines.h - what a job printed last.
 */
#ifndef HES_APP_RUN_LAST_LINES_H
#define HES_APP_RUN_LAST_LINES_H

#include <stddef.h>

#define LAST_LINES 3

struct last_lines {
	char *log;           /* path of the file; NULL: no memory */
	char *v[LAST_LINES]; /* fit to be printed and for JSON, at most some hundred bytes each */
	size_t n;
};

/** Read the end of a job's output in a run's folder; last_lines_free() it. No lines: there is no
 * output that may be read. */
void last_lines_read(const char *folder, const char *job, struct last_lines *out);
void last_lines_free(struct last_lines *l);

#endif
