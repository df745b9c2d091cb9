/*
 * learn_state.h - the state of a replay that learns: learn_replay.c watches and decides,
 * learn_plan.c plans.
 */
#ifndef HES_APP_LEARN_STATE_H
#define HES_APP_LEARN_STATE_H

#include "app/app.h"
#include "base/rng.h"
#include "heshare/policy.h"
#include "heshare/sim.h"
#include "learn/learn.h"

#define GUESS_S 600 /* left of a job of which nothing is known */

/** All borrowed. */
struct learn_replay_inputs {
	const struct app *app;
	const struct hes_catalogue *catalogue;
	const struct hes_fleet *fleet;
	const struct hes_jobs *jobs;
	const struct hes_predictor *predictor;
	const struct hes_policy *policy; /* plans what waits */
	const char *prefer;
	uint64_t seed;
};

/* What is known of a job. */
struct learner_job {
	uint32_t kind, workload; /* numbers */
	double left;             /* iterations */
	bool running;
	bool stranger; /* nothing was known of it when it started */
	uint32_t gpu;
	struct learn_clocks clocks; /* alone on its GPU, with its share */
};

/* A set on a GPU, and what was decided of it. */
struct learner_gpu {
	uint32_t n;
	uint32_t jobs[HES_MAX_SHARING];
	uint32_t windows;                              /* of this set */
	double done[HES_MAX_SHARING], seconds, joules; /* their sums */
	enum learn_verdict verdict;
	double work; /* of the last set that was kept: seconds of turns in a second; 0: none */
};

struct learn_replay {
	struct learn_replay_inputs in;
	const struct learn_preference *wants;
	struct hes_jobs jobs;    /* with other names; what their members point to is borrowed */
	struct learner_job *job; /* [jobs] */
	struct learner_gpu *gpu; /* [GPUs] */
	uint32_t *type;          /* [GPUs]: number */
	struct hes_model *model; /* to derive with */
	struct hes_profiles measured; /* rows of workloads at batch sizes on types */
	struct hes_profiles rows;     /* these and what is derived of them */
	struct learn_refusals refused;
	struct learn_account account;
	struct hes_rng noise;
};

const struct hes_gpu_type *learner_type(const struct learn_replay *l, uint32_t gpu);
/** The row of a job's workload in @in. @return false: there is none */
bool learner_row(const struct learn_replay *l, const struct hes_profiles *in, uint32_t job,
		 uint32_t gpu, struct hes_profile *out);
/** Whether a job's workload was measured, at any batch size. */
bool learner_knows(const struct learn_replay *l, uint32_t job);
/** Seconds that are left of a job alone on a GPU. */
double learner_left_s(const struct learn_replay *l, uint32_t job, uint32_t gpu);

#endif
