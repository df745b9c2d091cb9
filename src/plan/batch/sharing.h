/*
 * sharing.h - stage 2 for one GPU: a queue turned into batches with MPS
 * shares (HeShare, Algorithm 1, lines 4-10).
 *
 * The queue is run shortest first. It is cut into batches wherever a cut
 * lowers the average completion time; within a batch each job gets the
 * share, in tens of percent, that lowers it most.
 *
 * Beyond the paper, a cut can instead lower energy plus a weight times the
 * completion times, each batch at its best clock, and shares can overlap.
 */
#ifndef HES_PLAN_BATCH_SHARING_H
#define HES_PLAN_BATCH_SHARING_H

#include "plan/problem.h"

#define HES_SHARE_STEP_PCT 10
#define HES_SHARE_SUM_PCT  100 /* of a batch */
#define HES_SHARE_OVER_PCT \
	200 /* with overlap, if the predictor was trained on that; more was never better */
#define HES_SHARE_MOST 4 /* jobs on a GPU; no predictor is trained on more */

/** A job of a group with its SM share. */
struct hes_grouped {
	uint32_t job; /* of the problem */
	uint32_t sm_pct;
};

struct hes_group {
	uint32_t n; /* 1..HES_MAX_SHARING */
	struct hes_grouped m[HES_MAX_SHARING];
};

struct hes_group_cost {
	double end_us[HES_MAX_SHARING]; /* of each job, from the group's start */
	double ends_us;                 /* their sum */
	double last_us;                 /* when the GPU is free */
	double energy_mj;
	double peak_mw;                   /* highest power */
	uint8_t outside[HES_MAX_SHARING]; /* of each job, in any phase: enum hes_outside */
	bool far;                         /* in any phase: struct hes_set_rates */
	bool breaks_floor;                /* in any phase, of any job */
};

/** Predict a group on a type at a clock. When a job ends, the others continue at the rates
 * predicted for them. (In timeline.c.) */
void hes_group_run(const struct hes_problem *p, uint32_t type, uint32_t clock_mhz,
		   const struct hes_group *g, struct hes_group_cost *out);

/** @return whether every job of the group runs on that type, their memory fits, and they may share
 * a GPU */
bool hes_group_fits(const struct hes_problem *p, uint32_t type, const struct hes_group *g);

/** Whether some job alone at the default clock is far outside of the predictor's training range. */
bool hes_default_is_far(const struct hes_problem *p);

/** Batches in the order they run. */
struct hes_batches {
	struct hes_group *v; /* free() */
	size_t n;
};

/**
 * Shares in proportion to the SMs that each job uses alone. Each step goes to the job with the
 * least share for its use; of several, to the last one, which is the longest of a queue.
 */
void hes_share_by_use(const struct hes_problem *p, uint32_t type, struct hes_group *g);

/** The score of a group's shares; less is better. */
struct hes_share_aim {
	double (*score)(const struct hes_group_cost *c, const void *arg);
	const void *arg;
};

/** A group's score. A group far outside of the predictor's training range scores worse than any
 * other. */
double hes_share_judge(const struct hes_share_aim *aim, const struct hes_group_cost *c);

/**
 * Improve a group's shares: move steps from one job to another, every pair in turn, as long as that
 * helps. With overlap, also raise or lower the share of one job alone.
 * @param sum_pct  limit of the sum of the shares; more than 100: with overlap
 * @param cost     of the shares found
 */
void hes_share_tune(const struct hes_problem *p, uint32_t type, uint32_t clock_mhz,
		    uint32_t sum_pct, const struct hes_share_aim *aim, struct hes_group *g,
		    struct hes_group_cost *cost);

/** What batches are formed for. */
struct hes_sharing_aim {
	bool overlap;     /* shares may sum to as much as the predictor was trained on */
	double jct_price; /* mJ that a us of the sum of completion times is worth, each batch at its
			     best clock; 0: completion times alone count, at the default clock, as
			     published */
};

/**
 * @param jobs  shortest first
 * @return 0 or -ENOMEM
 */
int hes_sharing_batches(const struct hes_problem *p, uint32_t type,
			const struct hes_sharing_aim *aim, const uint32_t *jobs, size_t n,
			struct hes_batches *out);

#endif
