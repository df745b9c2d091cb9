/*
 * timeline.h - run an open queue on one GPU forward in time: when each job starts and ends, and the
 * energy.
 *
 * Jobs are admitted in order, as soon as the GPU has the SM share and the memory that they need.
 * The GPU runs at the highest clock of its co-runners. The simulator (sim.h) realises the same
 * rules with its own rates.
 */
#ifndef HES_PLAN_TIMELINE_H
#define HES_PLAN_TIMELINE_H

#include "plan/batch/sharing.h"
#include "plan/problem.h"

/** A job of an open queue. */
struct hes_timeline_item {
	uint32_t job; /* of the problem */
	uint16_t sm_pct;
	uint16_t clock; /* index into the clocks of the GPU's type */
};

/** The SM share that a job gets: all of a GPU without MPS. */
static inline uint16_t hes_timeline_share(const struct hes_gpu_type *g,
					  const struct hes_timeline_item *item)
{
	return g->alone ? HES_SHARE_SUM_PCT : item->sm_pct;
}

struct hes_timeline_cost {
	double ends_us;   /* sum of the completion times, from now; includes running jobs where the
			     problem counts them */
	double energy_mj; /* of the GPU from now on, running jobs included */
	double last_us;   /* when the GPU is free */
	double late_us;   /* sum over jobs of the time after their deadlines, and below their floors
			   */
	double peak_mw;   /* highest power */
	double far_us;    /* time with a setting far outside of the training range: struct
			     hes_set_rates */
};

struct hes_timeline_times {
	double start_us, end_us; /* from now */
	double energy_mj;        /* the job's part of the GPU's energy */
	double activity_w;       /* by which it was split: heshare/attribute.h */
	uint32_t outside; /* what was outside of the training range at any time: enum hes_outside */
};

/**
 * Run a queue on a GPU together with the jobs that run there already.
 * @param rates  belongs to the calling thread
 * @param each   of the items; may be NULL
 */
void hes_timeline_run(const struct hes_problem *p, struct hes_rates *rates, size_t gpu,
		      const struct hes_timeline_item *items, size_t n,
		      struct hes_timeline_cost *out, struct hes_timeline_times *each);

/** The same, with times and energy of the jobs that run already, in the problem's order of them. */
void hes_timeline_run_all(const struct hes_problem *p, struct hes_rates *rates, size_t gpu,
			  const struct hes_timeline_item *items, size_t n,
			  struct hes_timeline_cost *out, struct hes_timeline_times *each,
			  struct hes_timeline_times *running);

/** When to stop early: once energy and priced completion times must exceed a limit. */
struct hes_timeline_stop {
	double lambda; /* mJ for a microsecond of the sum of completion times */
	double limit_mj;
};

/**
 * Run a queue as long as its cost may stay below a limit.
 * @param starts_us  [n], when each job starts; may be NULL
 * @return false stopped early; @out is as far as it came
 */
bool hes_timeline_try(const struct hes_problem *p, struct hes_rates *rates, size_t gpu,
		      const struct hes_timeline_item *items, size_t n,
		      const struct hes_timeline_stop *stop, double *starts_us,
		      struct hes_timeline_cost *out);

/** hes_group_run() with what becomes of each job. @param parts  [n]; may be NULL */
void hes_group_run_parts(const struct hes_problem *p, uint32_t type, uint32_t clock_mhz,
			 const struct hes_group *g, struct hes_group_cost *out,
			 struct hes_timeline_times *parts);

#endif
