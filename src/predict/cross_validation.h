/*
 * cross_validation.h - cross-validation: predict samples that were left out. Folds leave out random
 * samples, a workload or a GPU type.
 */
#ifndef HES_PREDICT_CROSS_VALIDATION_H
#define HES_PREDICT_CROSS_VALIDATION_H

#include "predict/predictor.h"

struct fold_scores {
	struct interval_score *v; /* free() */
	size_t n;
};

/**
 * @param v    all samples, in any order
 * @param fit  constants of all samples
 * @param o    of the trees; o->threads folds at a time, with the same result
 * @return 0 or -errno with why
 */
int cross_validate(const struct observation *v, size_t n, const struct calibration *fit,
		   const struct boosting_options *o, struct fold_scores *out, struct hes_err *err);

#endif
