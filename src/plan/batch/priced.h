/*
 * priced.h - HeShare's two stages under one price of completion time.
 *
 * As published, stage 1 takes every job to run at the default clock, and stage 2 forms batches for
 * completion time alone; clocks come last. Here a price of completion time, in energy, runs through
 * both stages. At each price, stage 1 takes every job at its best clock and is solved exactly
 * (plan/assign/lap.h); stage 2 forms the batches with the least energy plus price times completion
 * times, each at its best clock, with shares that may overlap. The members of all prices make one
 * front.
 */
#ifndef HES_PLAN_BATCH_PRICED_H
#define HES_PLAN_BATCH_PRICED_H

#include "plan/batch/configure.h"

#define HES_PRICES 11

/**
 * Stage 1 at every price, and what stage 2 forms batches for: the arguments of hes_configure().
 * @param out  free(out->v)
 * @return 0 or -ENOMEM; @out is written on success only
 */
int hes_priced_assign(const struct hes_problem *p, struct hes_assign_front *out,
		      struct hes_sharing_aim aims[HES_PRICES]);

#endif
