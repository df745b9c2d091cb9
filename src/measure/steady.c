/*
 * steady.c - coefficients of variation; see steady.h.
 */
#include "measure/steady.h"

#include <math.h>

double steady_cv(const double *v, size_t n)
{
	double mean = 0, squares = 0;

	if (n < 2)
		return NAN;
	for (size_t i = 0; i < n; i++)
		mean += v[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (v[i] - mean) * (v[i] - mean);
	return mean != 0 ? sqrt(squares / (double)(n - 1)) / fabs(mean) : NAN;
}

long steady_from(const double *v, size_t n, size_t least, double cv)
{
	if (n < least || !(steady_cv(v + n - least, least) < cv))
		return -1;
	return (long)(n - least);
}
