/*
 * joint_moves.h - what a walk tries: a job goes elsewhere, two change places,
 * a share or clocks change.
 */
#ifndef HES_PLAN_JOINT_MOVES_H
#define HES_PLAN_JOINT_MOVES_H

#include "plan/joint/joint_walk.h"

/** Which boards it touches; what their queues would be is in w->trial[0..n). */
struct joint_move {
	uint32_t n;        /* 1 or 2 */
	uint32_t gpu[2];
	bool     screened; /* the trials were run, on estimates */
};

/** Fill w->weight_to. */
void joint_moves_weigh(struct joint_walk *w);

/** @return 1 a move; 0 none came of it; -ENOMEM */
int  joint_moves_propose(struct joint_walk *w, struct joint_move *m);

#endif
