/*
 * split_run.h - carry a split of `heshare partition` out on a GPU of this machine, and compare what
 * was measured with what was predicted.
 */
#ifndef HES_CLI_PARTITION_SPLIT_RUN_H
#define HES_CLI_PARTITION_SPLIT_RUN_H

#include "cli/partition/partition.h"
#include "cli/partition/split_out.h"

/**
 * Run the jobs of @a at the split of --split, else at the best one, until they end, --for is over
 * or a signal stops them. Prints the result; with --json, one document with that of @a.
 * @param commands  lines for a shell in the order of the jobs; NULL: those that were profiled
 * @param status    exit status: 1 when a job failed; set on success
 * @return 0; -EINVAL the jobs are to take turns; -ENOENT a job without command; errors of the
 * store, the GPU and the runner
 */
int partition_run(const struct partition_opts *o, const struct partition_answer *a,
		  const struct hes_catalogue *c, char *const *commands, int *status,
		  struct hes_err *err);

#endif
