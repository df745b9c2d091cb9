/*
 * predictor.h - the parts of a trained predictor.
 */
#ifndef HES_PREDICT_PREDICTOR_H
#define HES_PREDICT_PREDICTOR_H

#include "predict/constants.h"
#include "predict/features.h"
#include "predict/regressor.h"

#define PREDICTOR_TIME    0 /* outputs of the regressor */
#define PREDICTOR_POWER   1
#define PREDICTOR_OUTPUTS 2

/** Constant once made; any number of threads may share it. */
struct hes_predictor {
	struct hes_predictor_info about;
	struct constants_table    constants; /* of the baseline */
	struct hes_regressor     *rest;      /* log(time / baseline), log(power / baseline); us and W when plain */
};

/** Tell of the options that the regressor was learnt with; seed and recipe are there. */
void predictor_tell(struct hes_predictor *p);

/** Names of the features of a recipe; static. */
void predictor_feature_names(enum hes_recipe recipe, const char *names[FEATURE_COUNT]);

/** A query with its baseline told. Needs the constants and the recipe of @p. */
void predictor_query(const struct hes_predictor *p, const struct hes_gpu_type *g, const struct hes_profile *task,
		     const struct hes_setting *s, const struct hes_load *beside, struct query *out);

#endif
