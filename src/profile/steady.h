/*
 * steady.h - whether what was measured several times is one value (ETF: coefficient of variation under 5 %).
 */
#ifndef HES_PROFILE_STEADY_H
#define HES_PROFILE_STEADY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Standard deviation (of n - 1) over the mean. @return NaN of fewer than two values, or of a mean of 0 */
double steady_cv(const double *v, size_t n);

/**
 * Which windows count, of @n so far: the last @least, when their coefficient of variation is below @cv; else none.
 * What came before is then warm-up that took longer than expected.
 * @return where they begin; -1: not steady
 */
long steady_from(const double *v, size_t n, size_t least, double cv);

#endif
