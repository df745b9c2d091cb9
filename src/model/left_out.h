/*
 * left_out.h - values for a network that no fit saw: the model's, and those of the simple rules that it must beat.
 */
#ifndef HES_MODEL_LEFT_OUT_H
#define HES_MODEL_LEFT_OUT_H

#include "model/observe.h"

/**
 * Predict @v, whose first job is of network W, as a series' hes_series_by says, from data without W:
 * the model with constants fitted without W's pairs, or W's parameters from its sibling; the mean slowdown of the
 * other pairs; a line on the neighbour's L2 and DRAM use fitted to them; or the sibling's measured throughput by FLOPs.
 * @param out  NAN: there is nothing to predict it from
 * @return 0 or the error of hes_reproduce()
 */
int hes_left_out(const struct hes_model *m, const struct hes_observations *o, enum hes_series_id series,
		 const struct hes_observation *v, double *out, struct hes_err *err);

#endif
