/*
 * accuracy.c - mean errors and the explained part of the variance; see accuracy.h.
 */
#include "predict/accuracy.h"

#include <math.h>

static double mean(const double *y, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += y[i];
	return sum / (double)n;
}

struct hes_accuracy accuracy_measure(const double *y, const double *p, size_t stride, size_t n)
{
	double middle = mean(y, n), difference = 0, relative = 0, residual = 0, total = 0;

	for (size_t i = 0; i < n; i++) {
		double off = y[i] - p[i * stride];

		difference += fabs(off);
		relative += fabs(off) / fabs(y[i]);
		residual += off * off;
		total += (y[i] - middle) * (y[i] - middle);
	}
	return (struct hes_accuracy){
		.abs_error = difference / (double)n / fabs(middle),
		.rel_error = relative / (double)n,
		.mae = difference / (double)n,
		.r2 = total > 0 ? 1 - residual / total : 0,
	};
}
