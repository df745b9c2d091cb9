/*
 * halfplanes.h - the area that half-planes leave of a rectangle.
 */
#ifndef HES_ASSIGN_HALFPLANES_H
#define HES_ASSIGN_HALFPLANES_H

#include "plan/assign/exact.h"

struct hes_corner {
	double x, y;
};

struct hes_box {
	struct hes_objectives lo, hi;
};

/** Corners of room that @n half-planes need: a cut adds one at most, and there are two polygons. */
#define HES_CORNERS(n) (2 * ((n) + 4))

/**
 * @param box   hi above lo in both
 * @param room  HES_CORNERS(n) corners of scratch
 * @return the area left, as a part of the box's: 0 to 1, of no half-planes 1
 */
double hes_halfplanes_area(const struct hes_halfplane *h, size_t n, const struct hes_box *box,
			   struct hes_corner *room);

#endif
