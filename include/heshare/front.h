/*
 * front.h - a Pareto front: the trade-offs between energy and completion
 * time that a planner found, none better than another in both.
 */
#ifndef HESHARE_FRONT_H
#define HESHARE_FRONT_H

#include <stddef.h>

/** A member of a Pareto front. */
struct hes_front_point {
	double energy_j; /* busy energy */
	double avg_jct_s;
};

struct hes_front {
	struct hes_front_point *v; /* by rising energy; owned, free() */
	size_t n;
};

#endif
