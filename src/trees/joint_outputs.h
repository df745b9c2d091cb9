/*
 * joint_outputs.h - what a split of a joint tree makes small: the sum over
 * outputs of squared errors, each in units of its output's variance.
 *
 * Outputs go in pairs, one a lane of a vector; behind an odd number of them
 * stands one that is 0 everywhere.
 */
#ifndef HES_TREES_JOINT_OUTPUTS_H
#define HES_TREES_JOINT_OUTPUTS_H

#include <string.h>

#include "heshare/regressor.h"

#define JOINT_PAIRS (HES_REGRESSOR_MAX_OUTPUTS / 2)

typedef double joint_pair __attribute__((vector_size(2 * sizeof(double))));

/** Numbers a row: of several outputs an even one. */
static inline size_t joint_width(size_t n_outputs)
{
	return n_outputs > 1 ? (n_outputs + 1) / 2 * 2 : 1;
}

/**
 * Each output less its mean, over its standard deviation; of an output that does not vary: 0.
 * @return joint_width() numbers a row, row by row, to be freed; NULL: out of memory
 */
double *joint_even_out(const struct hes_rows *rows);

static inline __attribute__((always_inline)) void joint_add(joint_pair *sum, const double *numbers, uint32_t row,
							    size_t pairs)
{
	for (size_t p = 0; p < pairs; p++) {
		joint_pair v;

		memcpy(&v, numbers + (row * pairs + p) * 2, sizeof(v));
		sum[p] += v;
	}
}

static inline __attribute__((always_inline)) double joint_square(const joint_pair *sum, size_t pairs)
{
	joint_pair square = sum[0] * sum[0];

	for (size_t p = 1; p < pairs; p++)
		square += sum[p] * sum[p];
	return square[0] + square[1];
}

#endif
