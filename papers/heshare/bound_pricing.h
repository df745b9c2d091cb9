/*
 * bound_pricing.h - at given prices of the jobs' work: what a co-run set earns, and which sets earn
 * most.
 *
 * The sets are those that rate caches hold. bound_search() adds others: it judges every single job
 * and every pair at every share and clock, and larger sets by a beam search. It skips a pair if the
 * two jobs, each as fast as alone, cannot earn enough. Jobs do not run faster with co-runners, and
 * the GPU does not draw less: a margin allows for the predictor's deviations from that.
 */
#ifndef PAPERS_BOUND_PRICING_H
#define PAPERS_BOUND_PRICING_H

#include "plan/batch/sharing.h"
#include "plan/joint/joint_search.h"
#include "plan/problem.h"

#define BOUND_MOMENTS 18
#define BOUND_CUTS    9

/** A co-run set; time and energy are in the units of struct bound_pricing. */
struct bound_set {
	uint32_t type, n;
	uint16_t kind[HES_SHARE_MOST];
	double rate[HES_SHARE_MOST]; /* iterations in a unit of time */
	double power;
};

/** Prices that belong to one job. */
struct bound_job {
	double work;                /* of all of its work */
	double cut[BOUND_CUTS];     /* of its cuts: see bound.h */
	double pace[BOUND_CUTS];    /* fixed: the run time that each cut is for */
	double slope;               /* the sum of its cuts' prices */
	double busy[BOUND_MOMENTS]; /* of running at a moment; 0 at the last one */
};

struct bound_pricing {
	const struct hes_problem *p;
	double time_unit_us, power_unit_mw;
	double at[BOUND_MOMENTS];
	struct bound_job *jobs; /* [n] */
	uint32_t *first;        /* [n_kinds + 1]: where a kind's jobs begin in order */
	uint32_t *order;        /* [n] jobs by kind */
	uint32_t *memory_mib;   /* [n_kinds]: the least of its jobs */
	struct bound_set *sets;
	size_t n, room;
	struct hes_rates **caches; /* [n_caches]: one for each type and clock */
	size_t n_caches;
};

/**
 * Prepare, and take the sets that the problem's rate cache holds.
 * @param met  the sets that a search met are taken, too; may be NULL
 * @return 0 or -ENOMEM; to be finished either way
 */
int bound_pricing_init(struct bound_pricing *b, const struct hes_problem *p,
		       const struct hes_joint *met, double time_unit_us, double energy_unit_mj);
void bound_pricing_finish(struct bound_pricing *b);

/**
 * What a unit of time earns at each moment for the best job of a kind.
 * @param who  that job; UINT32_MAX: none earns anything
 */
void bound_kind_earns(const struct bound_pricing *b, uint32_t kind, double rate,
		      double out[BOUND_MOMENTS], uint32_t who[BOUND_MOMENTS]);

/** The same for a set, before its energy: each member stands for the best job of its kind. */
void bound_set_earns(const struct bound_pricing *b, const struct bound_set *s,
		     double out[BOUND_MOMENTS]);

/**
 * Add sets that earn more than their energy and a GPU's price.
 * @param gpu_price  [type * BOUND_MOMENTS + moment]
 * @param tolerance  no pair that stays unknown earns more beyond that than this part of its energy
 * @return 0 or -ENOMEM
 */
int bound_search(struct bound_pricing *b, const double *gpu_price, double tolerance);

#endif
