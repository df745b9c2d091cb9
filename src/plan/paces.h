/*
 * paces.h - what one walk of a search knows of sets: rates that were predicted
 * (rates.h), in a table that is quick to look up, and estimates (estimate.h) of all others.
 *
 * Estimates learn: what a prediction shows them to be off by is kept for each
 * two kinds beside each other on a type, and added to later ones.
 */
#ifndef HES_PLAN_PACES_H
#define HES_PLAN_PACES_H

#include "plan/estimate.h"

struct hes_paces;

struct hes_brief {
	const double *us;        /* iteration of each member, in the set's order; until the next question */
	double        power_mw;  /* of the board */
	bool          known;     /* as predicted */
	bool          far;       /* struct hes_pace */
};

/**
 * @param rates  what is asked and remembers; the caller's
 * @param e      NULL: there are no estimates
 * @return NULL out of memory
 */
struct hes_paces *hes_paces_new(const struct hes_problem *p, struct hes_rates *rates, const struct hes_estimator *e);
void hes_paces_free(struct hes_paces *p);

/** Whether there are estimates. */
bool hes_paces_estimate(const struct hes_paces *p);

/** A member by itself, at a clock's index: only where there are estimates. The predictor is asked if nobody was before. */
struct hes_alone hes_paces_alone(struct hes_paces *p, uint32_t type, struct hes_member m, uint16_t clock);

/** Those that are known beforehand. */
const struct hes_alone_table *hes_paces_table(const struct hes_paces *p);

/** Forget the sets that were predicted, not what estimates were off by, where there are more than so many. */
void hes_paces_forget(struct hes_paces *p, size_t most);

/** From now on tell of sets that were not predicted times that are shorter by a part than estimated. */
void hes_paces_hope(struct hes_paces *p, double part);

/**
 * @param clock    of the set, an index
 * @param roughly  estimates will do
 */
struct hes_brief hes_paces_of(struct hes_paces *p, const struct hes_set *s, uint16_t clock, bool roughly);

#endif
