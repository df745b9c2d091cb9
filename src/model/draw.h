/*
 * draw.h - what drawing profiles, samples and points share.
 */
#ifndef HES_MODEL_DRAW_H
#define HES_MODEL_DRAW_H

#include "base/rng.h"
#include "heshare/draw.h"

#define DRAW_BATCHES 7 /* 1 .. 64 */

/** @return 0; -EINVAL noise outside 0..0.5 */
int draw_check_noise(const struct hes_draw *d, struct hes_err *err);
/** The noise, and that there are types, all of them known to the model. */
int draw_check(const struct hes_draw *d, struct hes_err *err);
/** The factor by which one measurement is off. */
double draw_noise(struct hes_rng *rng, double cv);
/** @value with the digits that files keep, so that drawn and loaded values are the same. */
double draw_digits(double value);
/** The testbed's workloads and those that were added, in the model's order: @n of them, to be
 * freed; NULL: out of memory. */
const struct hes_workload **draw_workloads(const struct hes_model *m, size_t *n);

#endif
