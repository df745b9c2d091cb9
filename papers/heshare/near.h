/*
 * near.h - stage 1's front near the supported one, with the same proof of
 * how near: for GPUs that all differ, by the thousand.
 *
 * The ends of the front and, level by level, the weights between neighbours, as in exact.h, each solved by auction to within a step (auction.h). The
 * weights of a level do not depend on each other: threads solve them at the same time, and the front is the same with any number of them.
 */
#ifndef HES_ASSIGN_NEAR_H
#define HES_ASSIGN_NEAR_H

#include "plan/assign/exact.h"

struct hes_near_options {
	double   step;      /* of an auction, as a part of a job's mean cost at least */
	double   tolerance; /* gaps below this part of the front's box are not split */
	uint32_t weights;   /* stop after so many solves, at least 2; 0: a few levels */
	uint32_t threads;   /* at least 1 */
};

extern const struct hes_near_options hes_near_defaults;

/** @return 0 or -ENOMEM; @out is written on success only; solves counts weights */
int hes_near_run(const struct hes_assign *a, const struct hes_near_options *o, struct hes_exact_front *out);

#endif
