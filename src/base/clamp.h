/*
 * clamp.h - minimum and maximum of numbers that are not NaN, as one instruction. fmin() and fmax()
 * are library calls.
 */
#ifndef HES_BASE_CLAMP_H
#define HES_BASE_CLAMP_H

static inline double lesser(double a, double b)
{
	return a < b ? a : b;
}

static inline double greater(double a, double b)
{
	return a > b ? a : b;
}

static inline double clamp(double x, double low, double high)
{
	return lesser(greater(x, low), high);
}

#endif
