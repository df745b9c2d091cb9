/*
 * clamp.h - the lesser and the greater of two numbers that are not NaN, in an instruction each: fmin() and fmax()
 * are calls of the library, for what they do with NaN.
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
