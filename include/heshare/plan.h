/*
 * plan.h - what is to run where: for each GPU a sequence of batches, for
 * each batch a clock and jobs with SM shares.
 */
#ifndef HESHARE_PLAN_H
#define HESHARE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/beyond.h"
#include "heshare/fleet.h"
#include "heshare/job.h"

#define HES_MAX_SHARING 8 /* jobs of one batch */

/** A job in a batch. Times and energy are predictions. */
struct hes_placement {
	uint32_t job;        /* index into the jobs planned for */
	uint32_t sm_pct;     /* 1..100 */
	int64_t  start_us;
	int64_t  end_us;
	uint32_t beyond;     /* what of it lies outside of the samples that the predictor knows: enum hes_beyond */
};

/** Jobs that start together; the next batch starts when the last of them ends. */
struct hes_batch {
	uint32_t clock_mhz;
	uint32_t n;
	struct hes_placement jobs[HES_MAX_SHARING];
	int64_t  start_us;   /* predicted */
	int64_t  end_us;
	uint64_t energy_mj;  /* predicted energy of the board over the batch, idle part included */
};

struct hes_queue {
	struct hes_batch *batches;
	size_t            n;
};

/** Totals of a plan or of a replay. */
struct hes_totals {
	double   avg_jct_us;      /* mean of end - arrival */
	int64_t  makespan_us;     /* end of the last job, from time 0 */
	uint64_t busy_energy_mj;  /* boards while they run anything */
	uint64_t fleet_energy_mj; /* plus idle power of every board until the last job ends */
};

struct hes_plan {
	char              policy[HES_NAME_MAX];
	char              prefer[HES_NAME_MAX]; /* "" where the policy has no preference */
	uint64_t          seed;
	struct hes_queue *queues;               /* one a GPU of the fleet */
	size_t            n_gpus;
	struct hes_totals predicted;
};

int  hes_plan_init(struct hes_plan *p, size_t n_gpus);
void hes_plan_finish(struct hes_plan *p);
/** Append a copy of @b to a GPU's queue. @return 0 or -ENOMEM */
int  hes_plan_append(struct hes_plan *p, size_t gpu, const struct hes_batch *b);

/**
 * Check a plan against what it is for: every job exactly once, shares 1..100
 * and at most @max_share_sum in a batch, clocks that the type has, memory
 * never oversubscribed.
 */
int hes_plan_validate(const struct hes_plan *p, const struct hes_fleet *f,
		      const struct hes_jobs *jobs, uint32_t max_share_sum, struct hes_err *err);

/** JSON (docs/formats/plan.schema.json); jobs and GPUs are named, not numbered. */
int hes_plan_save(const char *path, const struct hes_plan *p, const struct hes_fleet *f,
		  const struct hes_jobs *jobs, struct hes_err *err);
int hes_plan_load(const char *path, const struct hes_fleet *f, const struct hes_jobs *jobs,
		  struct hes_plan *out, struct hes_err *err);

#endif
