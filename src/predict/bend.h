/*
 * bend.h - a smooth maximum: (a^sharpness + b^sharpness)^(1/sharpness), the larger value where the lesser is
 * negligible beside it. From a table for those who ask often, else by powers; they agree to 1e-9.
 */
#ifndef HES_PREDICT_BEND_H
#define HES_PREDICT_BEND_H

#include <math.h>
#include <stddef.h>

#include "base/clamp.h"

#define BEND_NEGLIGIBLE 0.2 /* ratio up to which the lesser value is left out: a step of 6e-5 at a sharpness of 5, of .3 % at 3 */
#define BEND_STEPS      128

/** (1 + r^sharpness)^(1/sharpness) of a ratio r: a polynomial for each step from BEND_NEGLIGIBLE to 1, and one at 1. */
struct bend {
	double step[BEND_STEPS + 1][6];
};

void bend_init(struct bend *b, double sharpness);

/** @param b  of @sharpness, or NULL. Both values are 0 and more. */
static inline double bend_max(const struct bend *b, double sharpness, double x, double y)
{
	double lo = lesser(x, y), hi = greater(x, y), r, at;
	const double *c;

	if (!(lo > BEND_NEGLIGIBLE * hi))
		return hi;
	r = lo / hi;
	if (!b)
		return hi * pow(1 + pow(r, sharpness), 1 / sharpness);
	at = greater(r - BEND_NEGLIGIBLE, 0) * (BEND_STEPS / (1 - BEND_NEGLIGIBLE));
	c = b->step[(int)at];
	at -= (int)at;
	return hi * ((c[0] + c[1] * at) + at * at * ((c[2] + c[3] * at) + at * at * (c[4] + c[5] * at)));
}

#endif
