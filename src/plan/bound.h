/*
 * bound.h - energy that no plan can do with less of, if its completion times add up to no more than a plan's,
 * and the reverse: as far as the predictor's figures go, over every job alone and every pair at every share and
 * clock, and over the larger sets that memos hold rates of or that a search for better ones finds (bound_rest.h).
 *
 * A plan is, at each moment and on each type of board, some boards with each of some sets. Forget that jobs come
 * whole and stay where they are, and what is left is a linear program in the time each set runs at each moment.
 *
 * A job whose work is done at moments m (on average, M) and paces a (the time that all of it would take so) ends at
 * M + the integral of u a(u) over its work u from 0 to 1, and u a >= min(0, a - b) + u b for every b: so not before
 * M + b / 2 - (mean of what a falls short of b). With b its least time this is M + b / 2, as known from the
 * mean busy times of one machine (Goemans et al., 2002); greater ones see that a job which runs slowly ends late.
 *
 * Any prices of the jobs' work, of those cuts and of the sum of completion times bound the program from below (weak
 * duality): from them comes what a set brings at a moment beyond its power, and what is best there is what a board is worth. That is the
 * greatest of functions that are linear in the moment, so convex, and trapezoids between a few moments are not below its
 * integral. The prices are those of the program restricted to the columns found so far (columns.h),
 * mixed with the best so far (Wentges, 1997); all sets are looked at, and those that bring most are added.
 * Such a bound is a line in the sum of completion times; where it meets the plan's energy the program is solved again, which gives the least sum.
 */
#ifndef HES_PLAN_BOUND_H
#define HES_PLAN_BOUND_H

#include "plan/timeline.h"

/** What is possible at best. */
struct hes_bounds {
	double least_mj;     /* no plan takes less energy, if its completion times sum to no more than the one's in question; 0: not proven */
	double least_jct_us; /* no plan's completion times sum to less, if it takes no more energy */
};

/**
 * @param memos  rates that were asked for
 * @param known  [n] when each job ends in some plan, and what it takes: units and first prices, no part of the proof
 * @param plan   the one in question; jct_us is the sum of completion times, from now
 * @return 0 or -ENOMEM
 */
int hes_bound(const struct hes_problem *p, struct hes_rates *const *memos, size_t n_memos,
	      const struct hes_timeline_times *known, const struct hes_objectives *plan, struct hes_bounds *out);

#endif
