/*
 * drift.h - detect that a predictor became worse: compare its recent errors with those on samples
 * held back from training.
 *
 * Retraining is due when the mean recent error is at least HES_DRIFT_RATIO times the mean at
 * validation, and chance would make recent errors so large in less than HES_DRIFT_CHANCE of cases
 * (one-sided Mann-Whitney test). The ratio prevents alarms for small changes in many rows; the test
 * prevents them for a few outliers.
 */
#ifndef HESHARE_DRIFT_H
#define HESHARE_DRIFT_H

#include <stddef.h>

#include "heshare/err.h"

#define HES_DRIFT_RATIO    1.5
#define HES_DRIFT_CHANCE   0.001
#define HES_DRIFT_MIN_ROWS 30  /* errors on each side; with fewer the verdict is unknown */
#define HES_DRIFT_RECENT   200 /* default number of recent errors */

enum hes_drift_verdict {
	HES_DRIFT_UNKNOWN, /* too few errors on a side */
	HES_DRIFT_NONE,
	HES_DRIFT_DUE, /* retraining is due */
};

struct hes_drift {
	size_t n_validation, n_recent;
	double validation, recent; /* mean errors; 0 when there are none */
	double chance; /* that recent errors rank so high without any change; 1: unknown */
	enum hes_drift_verdict verdict;
};

/**
 * Judge errors of one output: |measured - predicted| / measured, each finite and at least 0.
 * Pure. The order of the errors does not matter.
 * @return 0; -EINVAL an invalid error; -ENOMEM
 */
int hes_drift_judge(const double *validation, size_t n_validation, const double *recent,
		    size_t n_recent, struct hes_drift *out, struct hes_err *err);

#endif
