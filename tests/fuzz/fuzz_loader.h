/*
 * fuzz_loader.h - the fuzzer of a loader that takes a file name: loads, drops, or fails with a
 * sentence.
 */
#ifndef HES_FUZZ_LOADER_H
#define HES_FUZZ_LOADER_H

#include <stdlib.h>

#include "fuzz_file.h"
#include "heshare/err.h"

/**
 * @param load  loads @path and drops what it got; returns the loader's result
 * @return 0, for libFuzzer
 */
static inline int fuzz_loader(const uint8_t *data, size_t len, const char *suffix,
			      int (*load)(const char *path, struct hes_err *err))
{
	struct hes_err err = { 0 };
	int rc = load(fuzz_file(data, len, suffix), &err);

	if (rc > 0 || (rc < 0 && !err.msg[0]))
		abort();
	return 0;
}

#endif
