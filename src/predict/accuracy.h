/*
 * accuracy.h - errors of predictions against measurements.
 */
#ifndef HES_PREDICT_ACCURACY_H
#define HES_PREDICT_ACCURACY_H

#include "heshare/predict.h"

/**
 * Errors of predictions of one output. An error relative to 0 is infinite or NaN.
 * @param y       n measured values
 * @param p       n predictions, @stride apart
 * @param n       at least 1
 */
struct hes_accuracy accuracy_measure(const double *y, const double *p, size_t stride, size_t n);

#endif
