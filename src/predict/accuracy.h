/*
 * accuracy.h - how far predictions are from what was measured.
 */
#ifndef HES_PREDICT_ACCURACY_H
#define HES_PREDICT_ACCURACY_H

#include "heshare/predict.h"

/**
 * Errors of predictions of one output. Infinite or NaN where a measured value,
 * or their mean, is 0 and an error relative to it has no meaning.
 * @param y       n measured values
 * @param p       n predictions, @stride apart
 * @param n       at least 1
 */
struct hes_accuracy accuracy_measure(const double *y, const double *p, size_t stride, size_t n);

#endif
