/*
 * features.h - what a row of a predictor holds: Table II of the paper, and
 * what a profile adds to it, as one table with units and how each is filled.
 */
#ifndef HES_PREDICT_FEATURES_H
#define HES_PREDICT_FEATURES_H

#include "predict/baseline.h"

struct feature {
	const char *name;
	const char *unit;
	double    (*fill)(const struct query *q);
};

#define FEATURE_TABLE_II 14 /* the first ones are the paper's, in its order */
#define FEATURE_COUNT    36

extern const struct feature features[FEATURE_COUNT];

/** How many of them a recipe takes, from the first. */
size_t features_of(enum hes_recipe recipe);

/** @q with its baseline. @param row  room for @n, the first @n features */
void features_fill(const struct query *q, float *row, size_t n);

#endif
