/*
 * batch.h - what happens when jobs start together on one board: when each
 * ends, and the energy, phase by phase.
 */
#ifndef HES_PLAN_BATCH_BATCH_H
#define HES_PLAN_BATCH_BATCH_H

#include "plan/problem.h"

/** A job of a group with its SM share. */
struct hes_grouped {
	uint32_t job;      /* of the problem */
	uint32_t sm_pct;
};

struct hes_group {
	uint32_t           n; /* 1..HES_MAX_SHARING */
	struct hes_grouped m[HES_MAX_SHARING];
};

struct hes_group_cost {
	double end_us[HES_MAX_SHARING]; /* of each job, from the group's start */
	double ends_us;                 /* their sum */
	double last_us;                 /* when the board is free */
	double energy_mj;
	uint8_t outside[HES_MAX_SHARING]; /* of each job, in any phase: enum hes_outside */
	bool   far;                     /* in any phase: struct hes_pace */
};

/**
 * Run a group on a type at a clock. Whenever a job ends, those that remain
 * run at the rates predicted for them alone.
 */
void hes_group_run(const struct hes_problem *p, uint32_t type, uint32_t clock_mhz, const struct hes_group *g,
		   struct hes_group_cost *out);

/** @return whether the group's memory fits a board of that type, every job runs on it, and they may share it */
bool hes_group_fits(const struct hes_problem *p, uint32_t type, const struct hes_group *g);

/** Whether stage 1, every job alone at the default clock, is far outside of the predictor's samples for some job. */
bool hes_default_is_far(const struct hes_problem *p);

#endif
