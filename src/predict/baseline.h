/*
 * baseline.h - time and power as a closed form of Table II's features, from
 * which a forest learns the deviation (docs/predictor.md).
 */
#ifndef HES_PREDICT_BASELINE_H
#define HES_PREDICT_BASELINE_H

#include "predict/features.h"

struct baseline {
	double iteration_us;
	double power_w;
};

/** Both are positive and finite for any query. */
struct baseline baseline_of(const struct query *q);

#endif
