/*
 * joint_outputs.c - outputs made comparable; see joint_outputs.h.
 */
#include "trees/joint_outputs.h"

#include <math.h>
#include <stdlib.h>

double *joint_even_out(const struct hes_rows *rows)
{
	size_t n = rows->n, width = joint_width(rows->n_outputs);
	double *even = calloc(n * width, sizeof(*even));

	for (size_t o = 0; even && o < rows->n_outputs; o++) {
		const double *y = rows->y + o * n;
		double sum = 0, squares = 0, mean, most = 0;

		for (size_t i = 0; i < n; i++)
			sum += (y[i] - y[0]) / (double)n;
		mean = y[0] + sum;
		/* Squares of what is huge or tiny would leave the range of numbers. */
		for (size_t i = 0; i < n; i++)
			most = fabs(y[i] - mean) > most ? fabs(y[i] - mean) : most;
		if (!(most > 0))
			continue;
		for (size_t i = 0; i < n; i++)
			squares += (y[i] - mean) / most * ((y[i] - mean) / most);
		for (size_t i = 0; i < n; i++)
			even[i * width + o] = (y[i] - mean) / most / sqrt(squares / (double)n);
	}
	return even;
}
