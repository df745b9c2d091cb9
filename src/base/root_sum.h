/*
 * root_sum.h - the root of a sum of squares. hypot() would need glibc 2.35.
 */
#ifndef HES_BASE_ROOT_SUM_H
#define HES_BASE_ROOT_SUM_H

#include <math.h>

static inline double hes_root_sum(double a, double b)
{
	return sqrt(a * a + b * b);
}

#endif
