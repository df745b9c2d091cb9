/*
 * estimate.h - what a set of jobs will roughly come to, without asking the
 * predictor: a search weighs many sets that it never takes.
 *
 * Each member's time is its own alone with the same share and clock, stretched by a
 * function of what it and its neighbours keep busy alone, whose constants are fitted
 * once, on some hundred sets that the predictor was asked about.
 */
#ifndef HES_PLAN_ESTIMATE_H
#define HES_PLAN_ESTIMATE_H

#include "base/rough.h"
#include "plan/problem.h"
#include "plan/batch/sharing.h"

struct hes_estimator;

/**
 * Fit the constants on sets drawn from the problem's jobs. Asks the predictor by itself: p->rates may be used meanwhile.
 * The work is tasks of the calling team (OpenMP), the same for any number of threads.
 * @param seed       of the sets drawn
 * @param knows_all  ask about every member that a plan may have by itself, too, unless there are more than 65,536: a microsecond each
 * @return 0 or -ENOMEM
 */
int  hes_estimator_new(const struct hes_problem *p, uint64_t seed, bool knows_all, struct hes_estimator **out);
void hes_estimator_free(struct hes_estimator *e);

/** A member by itself with its share, at the set's clock: its iteration, and the board's power. */
struct hes_alone {
	float us, power_mw;
};

/** Members alone that were asked about beforehand. */
struct hes_alone_table {
	const struct hes_alone *v; /* as hes_alone_find() has it; NULL: none was */
	size_t                  n_kinds;
	size_t                  clocks; /* of the type that has most */
};

/** The estimator's, as long as it lives. */
struct hes_alone_table hes_estimator_table(const struct hes_estimator *e);

/**
 * @param clock  of the set, an index
 * @return NULL: not known, see @knows_all
 */
static inline const struct hes_alone *hes_alone_find(const struct hes_alone_table *t, uint32_t type, struct hes_member m, uint16_t clock)
{
	const size_t shares = HES_SHARE_SUM_PCT / HES_SHARE_STEP_PCT, share = m.sm_pct / HES_SHARE_STEP_PCT - 1u;

	if (!t->v || m.sm_pct % HES_SHARE_STEP_PCT)
		return NULL;
	return &t->v[((type * t->n_kinds + m.kind) * shares + share) * t->clocks + clock];
}

/** The predictor is asked about it. */
struct hes_alone hes_alone_of(struct hes_rates *r, const struct hes_set *s, uint32_t member);

struct hes_guess {
	hes_lanes us; /* of each member */
	float     power_mw;
};

/** What estimates of a set are known to be off by: logarithms, to be added. */
struct hes_off {
	hes_lanes us;
	float     power;
};

/**
 * Roughly the rates of a set of 2 to HES_SHARE_MOST.
 * @param a  its members
 */
struct hes_guess hes_estimate(const struct hes_estimator *e, const struct hes_set *s, const struct hes_alone *a,
			      const struct hes_off *off);

#endif
