/*
 * parts.h - parts of a study, several at a time.
 */
#ifndef PAPERS_PARTS_H
#define PAPERS_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"

/** Part @i. It writes only what is its own in @ctx. */
typedef int parts_fn(void *ctx, size_t i, struct hes_err *err);

/**
 * Run parts 0 .. n - 1.
 * @param threads  parts at a time; 0: as many as there are processors
 * @return 0, or what a part that failed returned, with its reason
 */
int parts_run(size_t n, uint64_t threads, parts_fn *part, void *ctx, struct hes_err *err);

#endif
