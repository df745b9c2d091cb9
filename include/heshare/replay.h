/*
 * replay.h - the result of a plan on modelled or real GPUs: the outcome of every
 * job and the state of every GPU over time.
 */
#ifndef HESHARE_REPLAY_H
#define HESHARE_REPLAY_H

#include "heshare/fleet.h"
#include "heshare/job.h"
#include "heshare/plan.h"

struct hes_outcome {
	uint32_t gpu;
	uint32_t sm_pct;
	uint32_t clock_mhz; /* requested */
	int64_t start_us;
	int64_t end_us;
	int64_t predicted_end_us; /* of the last plan that predicted it: the plan that started it,
				     or a later one (hes_remainder) */
};

/** A period in which nothing changes on a GPU. */
struct hes_segment {
	uint32_t gpu;
	uint32_t jobs; /* 0: idle */
	int64_t start_us;
	int64_t end_us;
	uint32_t power_mw;
	uint32_t clock_mhz; /* effective: below the requested one if the power limit lowers it */
	float sm_util;      /* 0..1 */
};

struct hes_gpu_usage {
	int64_t busy_us;
	uint64_t busy_energy_mj;
	uint64_t idle_energy_mj; /* until the last job of the fleet ends */
	double mean_util;        /* SM utilisation over the makespan, 0..1 */
};

struct hes_replay {
	struct hes_outcome *jobs; /* one a job */
	size_t n_jobs;
	struct hes_segment *segments; /* by start; busy periods only */
	size_t n_segments;
	struct hes_gpu_usage *gpus; /* one a GPU */
	size_t n_gpus;
	struct hes_totals totals;       /* realised */
	struct hes_totals predicted;    /* by the last plan that predicted each job */
	int64_t p50_jct_us, p95_jct_us; /* between two jobs, linear interpolation */
	double mean_util;               /* mean over the GPUs */
};

/**
 * Derive gpus, totals, percentiles and mean_util from jobs and segments;
 * gpus is replaced. The caller fills in predicted.
 * @param r     n_jobs outcomes, one a job of @jobs; segments do not overlap on a GPU of @f
 * @return 0 or -ENOMEM, with @r unchanged
 */
int hes_replay_summarise(struct hes_replay *r, const struct hes_fleet *f,
			 const struct hes_jobs *jobs);
/** Free what a replay holds and clear it; NULL is allowed. */
void hes_replay_free(struct hes_replay *r);

#endif
