/*
 * joint_places.h - roughly what a job takes at a place of a queue, told from the
 * states on the way through it: some hundred cycles where running the queue takes thousands,
 * so that a move can choose among many places.
 *
 * A job that runs for d (alone with its share s and clock, and a tenth longer) from t on, with m jobs behind it, takes
 *
 *     d (P_alone - P_idle) + a P_idle + lambda (t + d + m a),    a = d s / S,
 *
 * energy and priced completion times: its own work, and its part a of the board's time, which it adds to the idle power
 * drawn and to the wait of those behind it. S is what shares may sum to on the board. Deadlines and caps are no part of it.
 *
 * For walks with estimates (w->screens), by the thread that walks: their paces may be asked.
 */
#ifndef HES_PLAN_JOINT_PLACES_H
#define HES_PLAN_JOINT_PLACES_H

#include "plan/joint/joint_walk.h"

/** Somewhere to put a job. */
struct joint_place {
	uint32_t             gpu;
	uint32_t             at;      /* in its queue */
	uint32_t             mark;    /* the same in the queue as it is, before who is there now */
	uint32_t             behind;  /* how many jobs would be */
	struct hes_timeline_item item;
	double               told_mj; /* what it takes, roughly */
};

/**
 * A place for an item in a board's queue, or in what is left of it without the job that moves; not told yet.
 * @param q   the board's, or a copy that one job was taken out of
 * @param at  in @q
 */
struct joint_place joint_place_in(const struct joint_walk *w, uint32_t gpu, const struct joint_queue *q, uint32_t at,
				  const struct hes_timeline_item *item);

/** Have at hand what telling of an item on a board needs: ask for several places before any of them is told. */
void joint_place_want(const struct joint_walk *w, uint32_t gpu, const struct hes_timeline_item *item);

/** Fill in place->told_mj. */
void joint_place_tell(const struct joint_walk *w, struct joint_place *place);

/** What an item takes in the stead of the one at a place, from when that one starts; mJ. */
double joint_place_instead(const struct joint_walk *w, uint32_t gpu, uint32_t at, const struct hes_timeline_item *item);

#endif
