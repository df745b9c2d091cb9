/*
 * smooth_max.h - a smooth maximum: (a^sharpness + b^sharpness)^(1/sharpness), the larger value
 * where the lesser is negligible. From a table, or by pow(); both agree to 1e-9.
 */
#ifndef HES_PREDICT_SMOOTH_MAX_H
#define HES_PREDICT_SMOOTH_MAX_H

#include <math.h>
#include <stddef.h>

#include "base/clamp.h"

#define SMOOTH_MAX_NEGLIGIBLE                                                                      \
	0.2 /* ratio up to which the lesser value is left out: a step of 6e-5 at a sharpness of 5, \
	       of .3 % at 3 */
#define SMOOTH_MAX_STEPS 128

/**
 * (1 + r^sharpness)^(1/sharpness) of a ratio r: a polynomial for each step from
 * SMOOTH_MAX_NEGLIGIBLE to 1, and one at 1.
 */
struct smooth_max {
	double step[SMOOTH_MAX_STEPS + 1][6];
};

void smooth_max_init(struct smooth_max *m, double sharpness);

/** @param m  of @sharpness, or NULL. Both values are 0 and more. */
static inline double smooth_max(const struct smooth_max *m, double sharpness, double x, double y)
{
	double lo = lesser(x, y), hi = greater(x, y), r, at;
	const double *c;

	if (!(lo > SMOOTH_MAX_NEGLIGIBLE * hi))
		return hi;
	r = lo / hi;
	if (!m)
		return hi * pow(1 + pow(r, sharpness), 1 / sharpness);
	at = greater(r - SMOOTH_MAX_NEGLIGIBLE, 0) *
	     (SMOOTH_MAX_STEPS / (1 - SMOOTH_MAX_NEGLIGIBLE));
	c = m->step[(int)at];
	at -= (int)at;
	return hi *
	       ((c[0] + c[1] * at) + at * at * ((c[2] + c[3] * at) + at * at * (c[4] + c[5] * at)));
}

#endif
