/*
 * job_sets.h - `heshare simulate` on several sets of jobs: files, or draws of a trace. Every policy
 * plans every set, so that differences between policies are paired.
 */
#ifndef HES_CLI_SIMULATE_JOB_SETS_H
#define HES_CLI_SIMULATE_JOB_SETS_H

#include "cli/simulate/simulated.h"

struct job_sets {
	struct simulated *v; /* owned */
	size_t n;
	const char *source; /* of the draws; NULL: files. Borrowed */
};

/**
 * Load the sets and choose their policies.
 * @param args  files, or with o->draws one trace
 * @return exit status: 0, or 1 or 2 with a sentence
 */
int job_sets_load(struct job_sets *s, const struct simulate_opts *o, size_t n_args, char **args,
		  struct hes_err *err);
void job_sets_free(struct job_sets *s);

/** Load, run and compare. @return exit status */
int simulate_sets(const struct simulate_opts *o, size_t n_args, char **args);

/** Means over the sets, the paired difference from a reference, and who dominates whom. */
int job_sets_print(const struct job_sets *s, const struct simulate_opts *o, struct hes_err *err);
/** docs/formats/simulate.md. @return NULL: out of memory */
json_t *job_sets_json(const struct job_sets *s, const struct simulate_opts *o);

/** "10 draws of helios-like, all at time 0, on 8 GPUs (heshare), modelled" on standard output. */
void job_sets_heading(const struct job_sets *s);

#endif
