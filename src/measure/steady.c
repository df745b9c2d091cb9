/*
 * steady.c - coefficients of variation and standard errors; see steady.h.
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

/* Quantile of 95 % of Student's t distribution over that of the normal one, by degrees of freedom.
 */
static double wider(size_t freedom)
{
	static const double of[] = { 0, 3.838, 1.775, 1.431, 1.296, 1.225, 1.181, 1.152, 1.130 };

	return freedom < sizeof(of) / sizeof(of[0]) ? of[freedom] : 1 + 1.04 / (double)freedom;
}

static double block_se(const double *v, size_t n, size_t block)
{
	const size_t blocks = n / block;
	double mean[blocks];

	for (size_t i = 0; i < blocks; i++) {
		mean[i] = 0;
		for (size_t k = 0; k < block; k++)
			mean[i] += v[i * block + k] / (double)block;
	}
	return wider(blocks - 1) * steady_cv(mean, blocks) / sqrt((double)blocks);
}

double steady_se(const double *v, size_t n)
{
	double se = NAN;

	for (size_t block = 1; block == 1 ? n >= 2 : n / block >= 3; block *= 2)
		se = fmax(se, block_se(v, n, block));
	return se;
}
