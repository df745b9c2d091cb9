/*
 * exact.h - stage 1's supported front: the assignments that are best at some weights of energy and
 * completion time.
 *
 * Dichotomic search (Aneja and Nair, Management Science 25(1), 1979): for two adjacent points,
 * solve at the weights that make them equal (lap.h). This finds a point below the line through
 * them, or proves that there is none. Each solve excludes a half-plane.
 */
#ifndef HES_ASSIGN_EXACT_H
#define HES_ASSIGN_EXACT_H

#include "plan/assign/assign.h"
#include "plan/assign/lap.h"

struct hes_exact_options {
	double tolerance; /* stop when the hull can gain at most this part of its box; 0: complete
			   */
	uint32_t weights; /* stop after this many solves, at least 2; 0: no limit */
};

/** No assignment has w.energy * energy + w.jct * sum of completion times below @least. */
struct hes_halfplane {
	struct hes_weights w;
	double least;
};

struct hes_exact_front {
	struct hes_assign_front front;
	struct hes_halfplane *halfplanes; /* owned, free() */
	size_t n_halfplanes;
	uint32_t solves;
	double left; /* what the hull can still gain, as a part of its box */
};

/** @return 0 or -ENOMEM; @out is written on success only */
int hes_exact_run(const struct hes_assign *a, const struct hes_exact_options *o,
		  struct hes_exact_front *out);

#endif
