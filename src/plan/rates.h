/*
 * rates.h - how fast the jobs of a set run together on a board, and the
 * board's power: predictions, asked once and remembered.
 *
 * A member is a kind (workload and batch size) with an SM share; a set is a
 * multiset of members on a type at a clock. Many jobs are of one kind, and a
 * search meets the same sets over and over.
 *
 * Each job's time is predicted beside the others, whose board power is
 * itself predicted by adding them one at a time in the set's fixed order
 * (by kind, then share). The power of the set is the mean over its members
 * of the power predicted when that member comes last. A memo belongs to one
 * planning call.
 */
#ifndef HES_PLAN_RATES_H
#define HES_PLAN_RATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/plan.h"
#include "heshare/predict.h"

struct hes_rates;

struct hes_member {
	uint16_t kind;
	uint16_t sm_pct;
};

/** Members in rising order of kind, then share. */
struct hes_set {
	uint32_t          type;
	uint32_t          clock_mhz;
	uint32_t          n;
	struct hes_member m[HES_MAX_SHARING];
};

struct hes_pace {
	double  iteration_us[HES_MAX_SHARING]; /* of each member, in the set's order */
	double  power_mw;                      /* of the board */
	uint8_t outside[HES_MAX_SHARING];       /* what of each is outside of the predictor's samples: enum hes_outside */
	bool    far;                           /* shares, clock or neighbours are, far, for one of them */
};

/**
 * Novelty (struct hes_estimate) from which on a setting is far outside of the samples:
 * where there is another one, planners take that.
 */
#define HES_RATES_FAR 1.5

/**
 * @param types  by number
 * @param solo   [type * n_kinds + kind]: solo profiles; all three must outlive the memo
 * @return NULL out of memory
 */
struct hes_rates *hes_rates_new(const struct hes_predictor *p, const struct hes_gpu_type *const *types,
				const struct hes_profile *solo, size_t n_kinds);
void hes_rates_free(struct hes_rates *r);

/** Have memory at hand for so many more sets, so that none is taken while they are asked about. Where it runs short, that is as before. */
void hes_rates_reserve(struct hes_rates *r, size_t more);

/** How many sets more there is memory for at hand. */
size_t hes_rates_room(const struct hes_rates *r);

/**
 * Start anew with as much memory, and forget what nobody has asked about since this was done last; the time before
 * stands behind: what is asked of it is known, and taken over. Where memory runs short, all stays as it is.
 */
void hes_rates_turn(struct hes_rates *r);

/** Rates of a set of one or more members. Where memory runs short it forgets, and asks again. */
void hes_rates_of(struct hes_rates *r, const struct hes_set *s, struct hes_pace *out);

/** Every set that was rated, in the order first asked about. */
void hes_rates_each(const struct hes_rates *r,
		    void (*each)(void *ctx, const struct hes_set *s, const struct hes_pace *pace), void *ctx);

/** Predictions asked so far. */
uint64_t hes_rates_queries(const struct hes_rates *r);

#endif
