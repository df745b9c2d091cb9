/*
 * features.h - Table II of the paper as one table: what a row of a
 * predictor holds, in which unit, and how it is filled.
 */
#ifndef HES_PREDICT_FEATURES_H
#define HES_PREDICT_FEATURES_H

#include "heshare/predict.h"

/** All that is known when a job is about to join a GPU. */
struct query {
	const struct hes_gpu_type *gpu;
	const struct hes_profile  *task;
	const struct hes_setting  *setting;
	const struct hes_load     *beside;
};

struct feature {
	const char *name;
	const char *unit;
	double    (*fill)(const struct query *q);
};

#define FEATURE_COUNT 14

/** In the order of Table II. */
extern const struct feature features[FEATURE_COUNT];

/** @param row  FEATURE_COUNT values */
void features_fill(const struct query *q, float *row);

#endif
