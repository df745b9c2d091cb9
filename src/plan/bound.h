/*
 * bound.h - what no plan can go below in energy plus completion times at a
 * price, as far as the predictor's figures go.
 *
 * Time is cut into intervals. A plan is, in each interval and on each type of board, some time of each set
 * of jobs that run together; forget order, and let sets run for any time and jobs be cut into any
 * pieces. A job's completion is at least the mean moment of its work plus half of its least run time, and the mean
 * moment at least that of the intervals' starts. What is left is a linear program. Prices for the jobs, whichever, bound
 * it from below (weak duality): a job brings its price less what time costs by then, and each board takes in each interval the set that
 * brings most beyond its power. The prices are improved by subgradient steps (Polyak, 1969) from those that a known
 * plan suggests.
 *
 * It bounds plans made of the sets that the memos hold rates of: all that a search has looked at.
 */
#ifndef HES_PLAN_BOUND_H
#define HES_PLAN_BOUND_H

#include "plan/flow.h"

/**
 * @param memos  rates that were asked for
 * @param known  [n] a plan's times and energies of each job: where prices start
 * @param lambda mJ a microsecond of a job's completion time costs
 * @param least  no plan of those sets has less energy + lambda * sum of completion times
 * @return 0 or -ENOMEM
 */
int hes_bound(const struct hes_problem *p, struct hes_rates *const *memos, size_t n_memos,
	      const struct hes_flow_times *known, double jct_us, double *least_mj);

#endif
