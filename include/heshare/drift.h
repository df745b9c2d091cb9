/*
 * drift.h - whether a predictor has become worse than it was when it was
 * validated: its recent errors against those on rows held back from training.
 *
 * Retraining is due when the mean recent error is HES_DRIFT_RATIO times the
 * mean at validation or more, and the recent errors are so much larger that
 * chance would make them so in less than HES_DRIFT_CHANCE of cases (Mann and
 * Whitney's test, one-sided). The ratio keeps many rows from making a
 * small change an alarm, the test keeps a few outliers from it.
 */
#ifndef HESHARE_DRIFT_H
#define HESHARE_DRIFT_H

#include <stddef.h>

#include "heshare/err.h"

#define HES_DRIFT_RATIO    1.5
#define HES_DRIFT_CHANCE   0.001
#define HES_DRIFT_MIN_ROWS 30  /* errors on either side, below which nothing is said */
#define HES_DRIFT_RECENT   200 /* how many count as recent, unless told otherwise */

enum hes_drift_verdict {
	HES_DRIFT_UNKNOWN, /* too few errors on a side */
	HES_DRIFT_NONE,
	HES_DRIFT_DUE,     /* train again */
};

struct hes_drift {
	size_t n_validation, n_recent;
	double validation, recent; /* mean errors; 0 when there are none */
	double chance;             /* of recent errors ranking so high if nothing had changed; 1 when unknown */
	enum hes_drift_verdict verdict;
};

/**
 * Judge errors of one output: |measured - predicted| / measured, each finite and at least 0.
 * Pure. The order of the errors does not matter.
 * @return 0; -EINVAL an error that is none; -ENOMEM
 */
int hes_drift_judge(const double *validation, size_t n_validation, const double *recent, size_t n_recent,
		    struct hes_drift *out, struct hes_err *err);

#endif
