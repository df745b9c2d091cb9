/*
 * wrap.h - the wrapper, a process between a runner and a job.
 */
#ifndef HES_LAUNCH_WRAP_H
#define HES_LAUNCH_WRAP_H

#include <stdint.h>

/** Size of a status file, which is blank until the job ends. */
#define HES_STATUS_BYTES 64

/**
 * Run a shell command, pass its output on to standard output, write its exit status into the file
 * that is standard input, and kill the processes that it left. A job that prints more than @log_max
 * bytes, or more than the disk has room for, goes on: the output keeps its beginning, its progress
 * and its end. 0: no limit.
 * @param pattern  of progress lines; NULL: none
 * @return exit status
 */
int hes_launch_wrap(const char *command, const char *pattern, uint64_t log_max);

#endif
