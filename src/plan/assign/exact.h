/*
 * exact.h - stage 1's supported front: the assignments that are best at some
 * weights of energy and completion time, found exactly.
 *
 * Dichotomic search (Aneja and Nair, Management Science 25(1), 1979): between two
 * neighbours on the front the weights that hold them equal are solved
 * (slots.h). What comes out is a point below the line through them, or the proof that
 * there is none. Each solve rules out a half-plane; what all leave open bounds the
 * hypervolume of every front, unsupported points included.
 */
#ifndef HES_ASSIGN_EXACT_H
#define HES_ASSIGN_EXACT_H

#include "plan/assign/assign.h"
#include "plan/assign/slots.h"

struct hes_exact_options {
	double   tolerance; /* stop when what the front's hull may still gain is this part of its box; 0: complete */
	uint32_t weights;   /* stop after so many solves, at least 2; 0: no limit */
};

/** No assignment has w.energy * energy + w.jct * sum of completion times below @least. */
struct hes_halfplane {
	struct hes_weights w;
	double             least;
};

struct hes_exact_front {
	struct hes_assign_front front;
	struct hes_halfplane   *halfplanes; /* owned, free() */
	size_t                  n_halfplanes;
	uint32_t                solves;
	double                  left;       /* what the hull may still gain, as a part of its box */
};

/** @return 0 or -ENOMEM; @out is written on success only */
int hes_exact_run(const struct hes_assign *a, const struct hes_exact_options *o, struct hes_exact_front *out);

#endif
