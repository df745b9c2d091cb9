/*
 * features.h - the features of a predictor: Table II of the paper and further ones, in one table
 * with units and functions.
 */
#ifndef HES_PREDICT_FEATURES_H
#define HES_PREDICT_FEATURES_H

#include "predict/baseline/baseline.h"

/** What a feature depends on: the GPU type and ... */
enum feature_need {
	FEATURE_OF_TASK,    /* ... the task alone; of its baseline off_gpu */
	FEATURE_OF_SETTING, /* ... the task and its setting */
	FEATURE_OF_OTHERS,  /* ... the whole query */
	FEATURE_NEEDS
};

struct feature {
	const char *name;
	const char *unit;
	double (*fill)(const struct query *q);
	enum feature_need need;
};

#define FEATURE_COUNT 36 /* the first 14 are the paper's, in its order */

extern const struct feature features[FEATURE_COUNT];

/** Some features, by number. */
struct feature_list {
	uint8_t of[FEATURE_COUNT];
	size_t n;
};

/** The features with this need. */
struct feature_list features_needing(enum feature_need need);

/** @q with its baseline. @param row  [FEATURE_COUNT] */
void features_fill(const struct query *q, float *row);

/** The same of some. @param row  by feature; others are left as they are */
void features_fill_some(const struct query *q, const struct feature_list *some, float *row);

#endif
