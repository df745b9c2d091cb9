/*
 * gpu_point.h - what a meter saw of a GPU, as columns of a point (heshare/point.h).
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

#endif
