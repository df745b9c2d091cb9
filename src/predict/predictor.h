/*
 * predictor.h - the parts of a trained predictor.
 */
#ifndef HES_PREDICT_PREDICTOR_H
#define HES_PREDICT_PREDICTOR_H

#include "predict/features.h"
#include "predict/forest.h"

/** Constant once made; any number of threads may share it. */
struct hes_predictor {
	struct hes_predictor_info about;
	struct forest time;    /* log(time / baseline), or us when plain */
	struct forest power;   /* log(power / baseline), or W when plain */
};

#endif
