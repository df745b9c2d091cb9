/*
 * groups_placement.h - where a search stands: what is in each slot, and starts to search from.
 *
 * There is also a virtual slot for each job that the best start could not place. It takes
 * one job, at a loss greater than all else can bring, so that the search places every job if it
 * can.
 */
#ifndef HES_PARTITION_GROUPS_PLACEMENT_H
#define HES_PARTITION_GROUPS_PLACEMENT_H

#include "base/rng.h"
#include "partition/groups_values.h"

struct groups_placement {
	struct groups_set *set; /* [n_slots + n_jobs] */
	double *value;          /* [n_slots + n_jobs] of the sets */
	uint32_t *slot_of;      /* [n_jobs] */
	uint32_t n_slots;       /* virtual ones included */
	double total;           /* of all slots */
};

struct groups_state {
	const struct groups_problem *p;
	struct groups_values values;
	struct hes_rng rng;
	struct groups_placement now, best;
	uint32_t *order; /* [n_slots + n_jobs], scratch */
	double penalty;  /* of a job without a place */
};

int groups_state_init(struct groups_state *s, const struct groups_problem *p, uint64_t seed,
		      uint64_t evaluations);
void groups_state_finish(struct groups_state *s);

/** The value of a set in a slot, which may be a virtual one. */
double groups_slot_value(struct groups_state *s, uint32_t slot, const struct groups_set *set);
/** Change the job in a slot. */
void groups_slot_change(struct groups_state *s, uint32_t slot, const struct groups_set *set,
			double value);
/** If where the search stands is better than the best, remember it. */
void groups_state_keep(struct groups_state *s);
/** Back to the best. */
void groups_state_return(struct groups_state *s);
/** Make the starts and return to the best of them. */
void groups_state_start(struct groups_state *s);

#endif
