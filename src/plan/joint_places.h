/*
 * joint_places.h - roughly what a job takes at a place of a queue, told from the
 * states on the way through it: some hundred cycles where running the queue takes thousands,
 * so that a move can choose among many places.
 *
 * A job of run time d (alone with its share s and clock) that starts at t, with m jobs behind it, takes
 *
 *     d (P_alone - P_idle) + a P_idle + lambda (t + d + m a),    a = d s / S,
 *
 * energy and priced completion times: its own work, and its part a of the board's time, which it adds to the idle power
 * drawn and to the wait of those behind it. S is what shares may sum to on the board.
 */
#ifndef HES_PLAN_JOINT_PLACES_H
#define HES_PLAN_JOINT_PLACES_H

#include "plan/joint_walk.h"

/** Somewhere to put a job. */
struct joint_place {
	uint32_t             gpu;
	uint32_t             at;      /* in its queue, before who is there now */
	struct hes_flow_item item;
	double               told_mj; /* what it takes, roughly */
};

/**
 * @param place   where its told_mj goes; @at counts in the board's queue as it is
 * @param behind  how many jobs would be
 */
void joint_place_tell(const struct joint_walk *w, struct joint_place *place, uint32_t behind);

/** What an item takes in the stead of the one at a place, when that would start. */
double joint_place_instead(const struct joint_walk *w, uint32_t gpu, uint32_t at, const struct hes_flow_item *item);

#endif
