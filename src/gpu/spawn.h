/*
 * spawn.h - run a program to its end, with variables added to the environment.
 */
#ifndef HES_GPU_SPAWN_H
#define HES_GPU_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"

/**
 * Run @argv with @input on its standard input; the first @size - 1 bytes of its standard output
 * become the text @output, and the rest is dropped.
 * @param errors     the same of its standard error, of @errors_size bytes; NULL: to @output, too
 * @param variables  NAME=VALUE, replacing ours of the same name; ends with NULL
 * @param status     exit status; 128 + the signal that ended it
 * @return 0; -ENOENT no such program; -ETIMEDOUT it was killed after @timeout_ms; -errno
 */
int hes_spawn(char *const argv[], const char *const *variables, const char *input, char *errors,
	      size_t errors_size, int timeout_ms, char *output, size_t size, int *status,
	      struct hes_err *err);

#endif
