/*
 * steady.h - whether repeated measurements agree (ETF: coefficient of variation below 5 %).
 */
#ifndef HES_MEASURE_STEADY_H
#define HES_MEASURE_STEADY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Standard deviation (of n - 1) over the mean. @return NaN of fewer than two values, or of a mean
 * of 0 */
double steady_cv(const double *v, size_t n);

/**
 * Find the windows that count among @n: the last @least if their coefficient of variation is below
 * @cv. Earlier windows count as warm-up.
 * @return index of the first; -1: not steady
 */
long steady_from(const double *v, size_t n, size_t least, double cv);

#endif
