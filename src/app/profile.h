/*
 * profile.h - profile workloads on GPUs of this machine, into the store: alone and sharing a GPU,
 * over SM shares and clocks; or draw profiles and samples from the GPU model.
 *
 * Each point is in the store before the next one starts. Profiles and samples follow from the
 * points at the end, or after an interruption at the end of the next run. profile_close() takes a
 * session that failed to open.
 */
#ifndef HES_APP_PROFILE_H
#define HES_APP_PROFILE_H

#include <stdbool.h>

#include "app/app.h"
#include "heshare/profiler.h"
#include "heshare/store.h"

/** Lists are text: "1,8,64", "10..100:5". */
struct profile_request {
	const struct app *app;
	const char *const *guard; /* command line of the guard, NULL at its end */
	void (*report)(void *ctx, const struct hes_profile_progress *t);
	bool (*stop)(void *ctx); /* any thread asks; true: end early */
	void *ctx;
	void (*progress)(const char *what, uint64_t done, uint64_t total); /* of drawing */
	char *const *args; /* a name and a command line, or with @jobs a command line */
	int n_args;
	const char *store, *catalogue; /* files */
	const char *gpus;              /* as for gpus_choose() */
	const char *jobs;              /* file; NULL: @args name one workload */
	const char *batch, *shares, *clocks, *co_runners, *repeats;
	const char *pattern; /* that counts iterations in lines; NULL: heshare's own lines */
	uint64_t samples, seed, most, iterations, ahead;
	double warm_up_s, window_s, error_pct, patience_s, minutes;
	/* drawn from the model */
	const char *types, *fleet, *physics, *folder; /* folder: for the rows; NULL: none */
	double noise_pct;
};

/** What is to be profiled. */
struct profile_jobs {
	struct hes_profiled *v;
	size_t n;
	struct hes_co_runners *sets; /* of the request's co-runners: indices into v */
	size_t n_sets;
	size_t own; /* v[0 .. own - 1] are the named workload's, a batch size each; all of a file */
};

struct profile_session {
	const struct profile_request *q;
	struct hes_catalogue catalogue;
	struct hes_devices *devices;
	size_t *gpus, n_gpus;
	struct hes_store *store;
	struct hes_points known;
	struct profile_jobs jobs;
	struct hes_sequences *sequences; /* one a GPU type */
	size_t n_types;
	struct hes_profile_timing timing;
	bool clocks; /* some GPU's clock can be locked */
	char name[HES_STORE_ORIGIN_NAME];
	int64_t origin; /* of this run's rows; 0: none yet */
	size_t points_new;
	double end_s; /* stop then */
};

/** Refuse lists that are wrong on every machine, before GPUs and store are opened. @return 0;
 * -EINVAL, -E2BIG, -ERANGE */
int profile_check(const struct profile_request *q, struct hes_err *err);

/** Open GPUs and store, and find what to measure. @param out  profile_close() it in any case */
int profile_open(const struct profile_request *q, struct profile_session *out, struct hes_err *err);
/** The work on the session's type number @type. @param minutes  of one GPU, at least */
int profile_estimate(struct profile_session *s, size_t type, struct hes_profile_work *out,
		     double *minutes, struct hes_err *err);
/** Measure, and derive profiles and samples. */
int profile_run(struct profile_session *s, struct hes_profiled_result *r,
		struct hes_delivered *derived, struct hes_err *err);
void profile_close(struct profile_session *s);

/** What was drawn from the GPU model. */
struct profile_drawn {
	size_t profiles, samples;
	struct hes_delivered stored; /* if the request has a store */
};
/** Draw profiles and samples into the request's folder, its store, or both. */
int profile_draw(const struct profile_request *q, struct profile_drawn *out, struct hes_err *err);

/**
 * A command line of operands: one is a line for the shell, several are a program and its arguments.
 * @return 0; -E2BIG
 */
int profile_command_join(int n, char *const *args, char out[HES_POINT_COMMAND],
			 struct hes_err *err);
/** Choose the jobs. Commands that the store knows of earlier points are in @known; may be empty. */
int profile_jobs_choose(const struct profile_request *q, const struct hes_points *known,
			struct profile_jobs *out, struct hes_err *err);
void profile_jobs_free(struct profile_jobs *j);
/** Refuse a list of co-runners that is wrong whatever is known. @return 0; -EINVAL, -E2BIG */
int profile_co_runners_check(const char *text, struct hes_err *err);

#endif
