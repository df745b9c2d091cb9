/*
 * lap.h - stage 1 at fixed weights, solved exactly: a linear assignment problem (LAP) of jobs to
 * positions.
 *
 * A job at position p from the end of its GPU's queue delays itself and the p - 1 jobs behind it.
 * With weights on energy and on the sum of completion times it costs w.energy * e + w.jct * (wait +
 * p * t), whatever the other jobs are. GPUs of one type and wait form a group; a group of m GPUs
 * has m slots at each position.
 *
 * Dual: a price of each position, not negative; every job is where cost plus price is least; only
 * full positions have a price. The bound is computed from the prices alone, so it holds whatever
 * rounding did.
 */
#ifndef HES_ASSIGN_LAP_H
#define HES_ASSIGN_LAP_H

#include "plan/assign/assign.h"

struct hes_weights {
	double energy; /* of a mJ */
	double jct;    /* of a us of the sum of completion times; both above 0 */
};

/** Memory of solves, one after another, of one thread. */
struct hes_lap;

/** @return NULL out of memory. @a must outlive it */
struct hes_lap *hes_lap_new(const struct hes_assign *a);
void hes_lap_free(struct hes_lap *l);

/**
 * @param gpu_of  [n]: an assignment of least cost
 * @param bound   no assignment costs less: w->energy * mJ + w->jct * us of the sum of completion
 * times
 * @return 0 or -ENOMEM; both are written on success only
 */
int hes_lap_solve(struct hes_lap *l, const struct hes_weights *w, uint32_t *gpu_of, double *bound);

#endif
