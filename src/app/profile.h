/*
 * profile.h - the options of `heshare profile`, and the parts that carry it out.
 */
#ifndef HES_CLI_PROFILE_PROFILE_H
#define HES_CLI_PROFILE_PROFILE_H

#include <stdbool.h>

#include "heshare/profiler.h"

struct profile_opts {
	bool modelled;
	const char *out;
	const char *store, *catalogue;
	uint64_t samples;
	uint64_t seed;
	/* modelled GPUs */
	const char *types, *physics;
	const char *fleet;
	double noise_pct;
	/* GPUs of this machine */
	const char *gpus;
	const char *jobs;
	const char *batch;
	const char *shares;
	const char *clocks;
	const char *co_runners;
	uint64_t most;
	uint64_t iterations;
	const char *progress;
	double warm_up_s, window_s;
	const char *repeats;
	double error_pct;
	double patience_s;
	uint64_t ahead;
	double minutes;
	bool dry_run;
	bool json;
};

/** What is to be profiled, from options and operands. */
struct profile_jobs {
	struct hes_profiled *v;
	size_t n;
	struct hes_co_runners *sets; /* of --co-runners: indices into v */
	size_t n_sets;
	size_t own; /* v[0 .. own - 1] are NAME's, a batch size each; all of them with --jobs */
};

/**
 * A command line of operands: one is a line for the shell, several are a program and its arguments.
 * @return 0; -E2BIG
 */
int profile_command_join(int n, char **args, char out[HES_POINT_COMMAND], struct hes_err *err);

/** Commands that the store knows of earlier points; may be empty. */
int profile_jobs_choose(const struct profile_opts *o, int n_args, char **args,
			const struct hes_points *known, struct profile_jobs *out,
			struct hes_err *err);
void profile_jobs_free(struct profile_jobs *j);
/** Refuse a list of --co-runners that is wrong whatever is known. @return 0; -EINVAL, -E2BIG */
int profile_co_runners_check(const char *text, struct hes_err *err);

/** Profile GPUs of this machine. @return exit status */
int profile_gpus(const struct profile_opts *o, int n_args, char **args);

#endif
