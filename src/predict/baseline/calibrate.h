/*
 * calibrate.h - fit the baseline's constants to samples: robust nonlinear least squares with priors
 * (Levenberg-Marquardt).
 */
#ifndef HES_PREDICT_CALIBRATE_H
#define HES_PREDICT_CALIBRATE_H

#include <stdbool.h>

#include "predict/baseline/observation.h"

/** Constants fitted to samples, and what is needed to compute them without some samples. */
struct calibration;

/**
 * Fit the logarithms of times and powers. Each constant stays within its range, and near its prior
 * where samples do not determine it: a type's near those of all types, a workload's near those of
 * all workloads. The result does not depend on the number of threads.
 * @param v        observations; must outlive the calibration
 * @param threads  0: all processors
 * @return 0 or -ENOMEM
 */
int calibration_new(const struct observation *v, size_t n, uint32_t threads,
		    struct calibration **out);
void calibration_free(struct calibration *c);

/** A copy of the fitted constants. @return 0 or -ENOMEM */
int calibration_constants(const struct calibration *c, struct constants_table *out);

/**
 * The constants without some observations, to first order: one Gauss-Newton step from the fit (the
 * infinitesimal jackknife). Types and workloads that only these observations have keep their
 * priors.
 * @param without  [n] of calibration_new: the observations left out
 * @return 0 or -ENOMEM
 */
int calibration_without(const struct calibration *c, const bool *without,
			struct constants_table *out);

#endif
