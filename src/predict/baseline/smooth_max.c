/*
 * smooth_max.c - the table of a smooth maximum; see smooth_max.h.
 *
 * Value, slope and curvature are right at both ends of each step: off by 1e-10 at most for
 * sharpnesses up to 30, by 1e-14 for 5.
 */
#include "predict/baseline/smooth_max.h"

#define STEP ((1 - SMOOTH_MAX_NEGLIGIBLE) / SMOOTH_MAX_STEPS)

/* Value, slope and half the curvature at a ratio, by steps. */
static void expand(double r, double sharpness, double out[3])
{
	double inner = 1 + pow(r, sharpness), root = 1 / sharpness;

	out[0] = pow(inner, root);
	out[1] = STEP * pow(inner, root - 1) * pow(r, sharpness - 1);
	out[2] = STEP * STEP / 2 * (sharpness - 1) * pow(inner, root - 2) * pow(r, sharpness - 2);
}

void smooth_max_init(struct smooth_max *m, double sharpness)
{
	double from[3], to[3];

	expand(SMOOTH_MAX_NEGLIGIBLE, sharpness, from);
	for (size_t i = 0; i < SMOOTH_MAX_STEPS; i++) {
		double *c = m->step[i], value, slope, bow;

		expand(SMOOTH_MAX_NEGLIGIBLE + (double)(i + 1) * STEP, sharpness, to);
		value = to[0] - from[0] - from[1] - from[2];
		slope = to[1] - from[1] - 2 * from[2];
		bow = to[2] - from[2];
		c[0] = from[0];
		c[1] = from[1];
		c[2] = from[2];
		c[3] = 10 * value - 4 * slope + bow;
		c[4] = -15 * value + 7 * slope - 2 * bow;
		c[5] = 6 * value - 3 * slope + bow;
		for (size_t k = 0; k < 3; k++)
			from[k] = to[k];
	}
	for (size_t k = 0; k < 6; k++)
		m->step[SMOOTH_MAX_STEPS][k] = k < 3 ? to[k] : 0;
}
