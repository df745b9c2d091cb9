/*
 * bound_rest.h - the sets of jobs that nobody has asked rates of: which of
 * them would bring more than what is known, at given prices (bound.h).
 *
 * All jobs alone and all pairs, with every share and clock on every type, are judged; larger sets by a beam: the most
 * promising of one size, with anyone else who fits. A pair is asked about unless its two by themselves show that
 * it brings no more: in company no job is quicker, and the board's power not lower, than alone. Predictors are free to say
 * otherwise; a margin allows for how far ours was ever seen to (docs/planning.md).
 */
#ifndef HES_PLAN_BOUND_REST_H
#define HES_PLAN_BOUND_REST_H

#include "plan/bound_menu.h"

#define BOUND_MOMENTS 18

struct bound_rest;

/** What the best job of a kind brings at each moment, at a rate in iterations a unit of time; none negative, and no less at a higher rate. */
typedef void bound_brings_fn(const void *ctx, uint32_t kind, double rate, double out[BOUND_MOMENTS]);

struct bound_question {
	bound_brings_fn *brings;
	const void      *ctx;
	const double    *worth;      /* [type * BOUND_MOMENTS + moment]: what a board is worth, by the sets known */
	double           tolerance;  /* in parts of a set's power: what brings no more beyond that is passed over */
};

/** @return NULL out of memory */
struct bound_rest *bound_rest_new(const struct hes_problem *p, double time_unit_us, double energy_unit_mj);
void bound_rest_free(struct bound_rest *r);

/**
 * Look at all singles and pairs, and on from the best of them.
 * @param found  those that bring more than a board is worth at some moment are added; beyond them no pair brings more than
 *               that and the tolerance
 * @return 0 or -ENOMEM
 */
int bound_rest_look(struct bound_rest *r, const struct bound_question *q, struct bound_menu *found);

/** Sets rated so far. */
uint64_t bound_rest_rated(const struct bound_rest *r);

#endif
