/*
 * batch.h - a group of jobs that start together on one GPU: when each ends, and the energy, phase
 * by phase.
 */
#ifndef HES_PLAN_BATCH_BATCH_H
#define HES_PLAN_BATCH_BATCH_H

#include "plan/problem.h"

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

#endif
