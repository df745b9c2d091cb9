/*
 * bound.h - lower bounds for plans: the least energy of all plans that are as fast as a given one,
 * and the least sum of completion times of all plans that take no more energy. Power caps and
 * deadlines are not counted.
 *
 * The bounds hold for the predictor's figures, over every single job and every pair at every share
 * and clock, and over the larger co-run sets that a search met or that a beam search finds
 * (bound_pricing.h). Start-ups take no time in them.
 *
 * The relaxation. At each moment, each GPU of a type runs some co-run set; jobs may be cut into
 * pieces that run anywhere, one at a time. That is a linear program in the time that each set runs
 * at each moment.
 *
 * Cuts. A job does its work u in 0..1 at moments whose mean is M, at pace a(u): the time that all
 * of its work would take so. It ends at M plus the integral of u a(u) or later. For every b, u a >=
 * u b - max(0, b - a), so the job ends no earlier than M + b / 2 less the mean shortfall of a
 * against b. With b the job's least run time this is the mean busy time bound (Goemans et al.,
 * 2002); larger b account for jobs that run slowly, best those near their real pace.
 *
 * The proof. Any prices of work, cuts, jobs that run and the sum of completion times give a bound
 * (weak duality). The price of a job that runs is linear between moments. A GPU's price at a moment
 * is what the best set earns beyond its energy: between moments a maximum of linear functions, so
 * convex, and trapezoids are not below its integral. Rounding and an early end cost tightness, not
 * truth.
 */
#ifndef PAPERS_BOUND_H
#define PAPERS_BOUND_H

#include "plan/joint/joint_search.h"

struct hes_bounds {
	double least_mj;     /* 0: not proven */
	double least_jct_us; /* of the sum of completion times, from now */
};

/**
 * @param p       one job at least; its rate cache holds the sets of known plans
 * @param met     a search whose sets count, too; may be NULL
 * @param known   [n] when each job starts and ends in some plan, and its energy: units, cuts and
 * first prices; no such numbers can make the bound wrong
 * @param plan    the plan to compare with; jct_us is the sum of completion times, from now
 * @return 0 or -ENOMEM; @out is written only on success
 */
int hes_bound(const struct hes_problem *p, const struct hes_joint *met,
	      const struct hes_timeline_times *known, const struct hes_objectives *plan,
	      struct hes_bounds *out);
/**
 * The same for a member of a search's front. The search wanted no energy of the fleet, and nothing
 * runs yet. Time grows with the third power of jobs.
 */
int hes_bound_joint(const struct hes_problem *p, const struct hes_joint *j, size_t member,
		    struct hes_bounds *out);

#endif
