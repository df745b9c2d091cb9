/*
 * regressor.h - inside of a regressor, shared by those who make one (fit,
 * files, LightGBM) and those who ask it.
 */
#ifndef HES_PREDICT_REGRESSOR_H
#define HES_PREDICT_REGRESSOR_H

#include "heshare/regressor.h"
#include "predict/ensemble.h"

struct hes_regressor {
	struct hes_regressor_info about;
	char   (*feature_names)[HES_REGRESSOR_NAME_MAX];
	char   (*output_names)[HES_REGRESSOR_NAME_MAX];
	struct ensemble ensemble; /* of every kind with trees */
	double *weights;          /* linear: of each output, n_features slopes and the constant */
	double *means;            /* linear: of each feature, for missing values */
};

#endif
