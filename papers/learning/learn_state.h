/*
 * learn_state.h - the state of a replay that learns: learn_replay.c watches and decides,
 * learn_rows.c has what is known of workloads, learn_plan.c plans.
 *
 * A kind is a workload at a batch size. Jobs, kinds, workloads and GPU types have numbers.
 */
#ifndef PAPERS_LEARN_STATE_H
#define PAPERS_LEARN_STATE_H

#include "app/app.h"
#include "base/rng.h"
#include "heshare/policy.h"
#include "heshare/sim.h"
#include "learn/learn.h"

#define LEARNER_NONE UINT32_MAX

#define LEARN_GUESS_S 600 /* left of a job of which nothing is known */

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

struct learner_job {
	uint32_t kind, workload;
	double left; /* iterations */
	bool running;
	bool unknown;            /* nothing was known of it when it started */
	uint32_t sm_pct;         /* once it runs */
	struct learn_clocks own; /* with a part of the SMs */
};

struct learner_workload {
	bool known;  /* it was measured, at any batch size on any type */
	bool begins; /* scratch of a plan: one of its jobs runs, or is to start */
};

struct learner_gpu {
	uint32_t type;
	/* A set, and what was seen of it. */
	uint32_t n, jobs[HES_MAX_SHARING];
	uint32_t windows;
	struct learn_window seen; /* all of them as one */
	enum learn_verdict verdict;
	double work; /* of the last set that was kept: seconds of turns in a second; 0: none */
	/* Scratch of a plan. */
	uint32_t members, shares_pct;
	uint64_t memory_mib;
	bool measures;  /* a job alone */
	uint32_t start; /* an unknown job */
};

struct learn_replay {
	struct learn_replay_inputs in;
	const struct learn_preference *prefer;
	struct hes_jobs jobs;    /* with other names; what their members point to is borrowed */
	struct learner_job *job; /* [jobs] */
	struct learner_workload *workload; /* [jobs] */
	struct learner_gpu *gpu;           /* [GPUs] */
	uint32_t n_kinds, n_types;
	struct learn_clocks *clocks;  /* [kinds * types], on a whole GPU */
	struct hes_model *model;      /* to derive with */
	struct hes_profiles measured; /* rows of kinds on types; there is room for all */
	struct hes_profiles rows;     /* these, and what is derived of them */
	struct learn_refusals refused;
	struct learn_account account;
	struct hes_rng noise;
	/* Scratch of a plan. */
	uint32_t *waiting;           /* [jobs] */
	int64_t *free_at_us;         /* [GPUs] */
	struct hes_running *running; /* [GPUs * HES_MAX_SHARING] */
};

const struct hes_gpu_type *learner_type(const struct learn_replay *l, uint32_t gpu);
/** The clocks of a job's kind on the type of a GPU; of one that runs with a part of the SMs its
 * own. */
struct learn_clocks *learner_clocks(const struct learn_replay *l, uint32_t job, uint32_t gpu);
/** Whether a job's workload was measured, at any batch size. */
bool learner_knows(const struct learn_replay *l, uint32_t job);
/** Seconds that are left of a job alone on a GPU. */
double learner_left_s(const struct learn_replay *l, uint32_t job, uint32_t gpu);
/** A job had a whole GPU to itself, unlocked. @return 1: its row is new; 0: its kind was measured
 * on this type before; -errno */
int learner_keep_row(struct learn_replay *l, uint32_t job, uint32_t gpu,
		     const struct hes_rate *rate, double power_w, struct hes_err *err);

#endif
