/*
 * calibrate.h - the baseline's constants from samples: robust nonlinear
 * least squares with beliefs (Levenberg-Marquardt).
 */
#ifndef HES_PREDICT_CALIBRATE_H
#define HES_PREDICT_CALIBRATE_H

#include "predict/constants.h"

/** A query and what came of it. */
struct observation {
	struct query       query;
	struct hes_setting setting; /* query.setting points to it or elsewhere */
	double             iteration_us;
	double             power_w;
};

/**
 * Constants that make the logarithms of times and powers fit, each within its
 * range and near what is believed as far as samples leave it open: a type's
 * near those of all types, a workload's near those of all workloads. The same
 * for any number of threads.
 * @param threads  0: all processors
 * @return 0 or -ENOMEM
 */
int calibrate(const struct observation *v, size_t n, uint32_t threads, struct constants_table *out);

#endif
