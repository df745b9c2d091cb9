/*
 * regressor.h - inside of a regressor, for those who make one (fit.c, regressor_file.c) and for the
 * predictor.
 *
 * A maker allocates it by calloc(), fills it, and ends with regressor_ready(). hes_regressor_free()
 * takes a half-filled one.
 */
#ifndef HES_TREES_REGRESSOR_H
#define HES_TREES_REGRESSOR_H

#include "heshare/regressor.h"
#include "trees/ensemble.h"

#define REGRESSOR_UNIT_MAX 16 /* bytes of an output's unit, with the 0 */

struct regressor_output {
	char name[HES_REGRESSOR_NAME_MAX];
	char unit[REGRESSOR_UNIT_MAX];
	struct hes_regressor_errors errors; /* kept for the model file; not used here */
};

struct hes_regressor {
	struct hes_regressor_info about;
	char (*feature_names)[HES_REGRESSOR_NAME_MAX];
	struct regressor_output *outputs;
	struct ensemble ensemble;
};

/** Count trees and nodes. */
void regressor_ready(struct hes_regressor *r);

#endif
