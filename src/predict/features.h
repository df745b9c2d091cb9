/*
 * features.h - the features of a predictor: Table II of the paper and further ones, in one table.
 */
#ifndef HES_PREDICT_FEATURES_H
#define HES_PREDICT_FEATURES_H

#include "predict/baseline/baseline.h"

#define FEATURE_COUNT 36 /* the first 14 are the paper's, in its order */

extern const char *const feature_names[FEATURE_COUNT];

/** @q with its baseline. @param row  [FEATURE_COUNT] */
void features_fill(const struct query *q, float *row);

#endif
