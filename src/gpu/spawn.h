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
 * Run @argv with @input on its standard input; its standard output goes to @output, a text of
 * at most @size - 1 bytes.
 * @param errors     descriptor for its standard error; -1: to @output, too
 * @param variables  NAME=VALUE, replacing ours of the same name; ends with NULL
 * @param status     exit status; 128 + the signal that ended it
 * @return 0; -ENOENT no such program; -ETIMEDOUT it was killed after @timeout_ms; -errno
 */
int hes_spawn(char *const argv[], const char *const *variables, const char *input, int errors,
	      int timeout_ms, char *output, size_t size, int *status, struct hes_err *err);

#endif
