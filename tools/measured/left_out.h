/*
 * left_out.h - values for a network that no fit saw: the model's, and those of the simple rules
 * that it must beat.
 */
#ifndef TOOLS_LEFT_OUT_H
#define TOOLS_LEFT_OUT_H

#include "measured/observe.h"

/** A series whose observations are another's, each predicted without data of its network. */
struct hes_left_out {
	enum hes_series_id series, of;
	bool rule; /* by a simple rule; else by the model */
};

/** @return NULL: @series has observations of its own, and the model as it is predicts them */
const struct hes_left_out *hes_left_out_find(enum hes_series_id series);

/**
 * Predict @v, whose first job is of network W, as @series says, from data without W:
 * the model with constants fitted without W's pairs, or W's parameters from its sibling; the mean
 * slowdown of the other pairs; a line on the co-runner's L2 and DRAM use fitted to them; or the
 * sibling's measured throughput by FLOPs.
 * @param out  NAN: there is nothing to predict it from
 * @return 0 or the error of hes_reproduce()
 */
int hes_left_out(const struct hes_model *m, const struct hes_observations *o,
		 enum hes_series_id series, const struct hes_observation *v, double *out,
		 struct hes_err *err);

#endif
