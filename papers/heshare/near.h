/*
 * near.h - approximates the supported front with a proven gap: for thousands of different GPUs.
 *
 * As exact.h, but each weight is solved by auction (auction.h), and gaps are split level by level.
 * The weights of a level are independent: threads solve them in parallel, and the front does not
 * depend on their number.
 */
#ifndef HES_ASSIGN_NEAR_H
#define HES_ASSIGN_NEAR_H

#include "exact.h"

struct hes_near_options {
	double step;      /* of an auction, as a part of a job's mean cost */
	double tolerance; /* gaps below this part of the front's box are not split */
	uint32_t weights; /* stop after this many solves, at least 2; 0: a few levels */
	uint32_t threads; /* at least 1 */
};

extern const struct hes_near_options hes_near_defaults;

/** @return 0 or -ENOMEM; @out is written on success only; solves counts weights */
int hes_near_run(const struct hes_assign *a, const struct hes_near_options *o,
		 struct hes_exact_front *out);

#endif
