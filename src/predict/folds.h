/*
 * folds.h - what a predictor would have said of samples, had it not seen
 * them: some drawn by lot, all of a workload, all of a GPU type, workloads on
 * types, those at the ends of the settings.
 */
#ifndef HES_PREDICT_FOLDS_H
#define HES_PREDICT_FOLDS_H

#include "predict/predictor.h"

struct fold_scores {
	struct interval_score *v;  /* free() */
	size_t                 n;
};

/**
 * @param v    all samples, in whatever order
 * @param fit  constants of all samples; NULL where the recipe knows none
 * @param o    of the regressors; o->threads folds are learnt at a time, and the result is the same
 * @return 0 or -errno with why
 */
int folds_score(const struct observation *v, size_t n, enum hes_recipe recipe, const struct calibration *fit,
		const struct hes_regressor_options *o, struct fold_scores *out, struct hes_err *err);

#endif
