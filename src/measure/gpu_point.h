/*
 * gpu_point.h - what a meter saw of a GPU, as columns of a point (heshare/point.h); how well
 * repeated measurements agree, and how well their mean is known.
 */
#ifndef HES_MEASURE_GPU_POINT_H
#define HES_MEASURE_GPU_POINT_H

#include "heshare/measure.h"
#include "heshare/point.h"

/**
 * A row with the columns of the GPU over all windows together: windows, seconds, power, clock and
 * activity. What no window has, and the columns of the job that may be missing, are NaN.
 * @param v  @n windows, at least one, each with a mean power
 */
struct hes_point hes_gpu_point(const struct hes_measured *v, size_t n);

/** Standard deviation (of n - 1) over the mean. @return NaN of fewer than two values, or of a mean
 * of 0 */
double steady_cv(const double *v, size_t n);

/**
 * Standard error of the mean of @n windows in their order, as a part of the mean. Windows that
 * follow one another are correlated: the values are also averaged in blocks of 2, 4, ... (at least
 * three blocks), and the largest standard error counts (Flyvbjerg and Petersen, 1989). Few values
 * know their deviation badly: it is scaled so that mean +- 1.645 standard errors is the 90 %
 * interval of Student's t distribution.
 * @return NaN of fewer than two values, or of a mean of 0
 */
double steady_se(const double *v, size_t n);

#endif
