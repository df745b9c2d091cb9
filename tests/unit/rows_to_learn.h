/*
 * rows_to_learn.h - rows that tests learn from: noise, and a known function.
 */
#ifndef HES_TESTS_ROWS_TO_LEARN_H
#define HES_TESTS_ROWS_TO_LEARN_H

#include "predict/regressor.h"

#define FEATURES 4
#define MOST     1200

/* Rows and room for them. */
struct set {
	float           x[FEATURES * MOST];
	double          y[2 * MOST];
	struct hes_rows rows;
};

/** No row is filled in; free() it. */
struct set *set_create(size_t n, size_t n_outputs);
/** @values distinct values a feature, a part of them missing; targets are drawn too. */
struct set *noise(size_t n, uint64_t values, double missing, uint64_t seed);
/** Two outputs that are functions of the features, the second -2 times the first. */
struct set *known_set(size_t n, uint64_t seed);
void row_of(const struct set *s, size_t i, float *row);

/** A test fails where this does. */
struct hes_regressor *fit(const struct set *s, const struct hes_regressor_options *o);
/** Mean absolute error of the first output on the rows of a set. */
double mae(const struct hes_regressor *r, const struct set *s);

#endif
