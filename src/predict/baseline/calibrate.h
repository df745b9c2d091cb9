/*
 * calibrate.h - the baseline's constants from samples: robust nonlinear
 * least squares with beliefs (Levenberg-Marquardt).
 */
#ifndef HES_PREDICT_CALIBRATE_H
#define HES_PREDICT_CALIBRATE_H

#include <stdbool.h>

#include "predict/baseline/observation.h"

/** Constants fitted to samples, and what is needed to say what they would be without some of them. */
struct calibration;

/**
 * Find constants that make the logarithms of times and powers fit, each within its
 * range and near what is believed as far as samples leave it open: a type's
 * near those of all types, a workload's near those of all workloads. The same
 * for any number of threads.
 * @param v        observations; must outlive the calibration
 * @param threads  0: all processors
 * @return 0 or -ENOMEM
 */
int  calibration_new(const struct observation *v, size_t n, uint32_t threads, struct calibration **out);
void calibration_free(struct calibration *c);

/** A copy of the constants found. @return 0 or -ENOMEM */
int  calibration_constants(const struct calibration *c, struct constants_table *out);

/**
 * The constants without some observations, to first order: one Gauss-Newton step from those
 * found (the infinitesimal jackknife). Types and workloads that only those show keep what is believed.
 * @param without  [n] of calibration_new: the observations left out
 * @return 0 or -ENOMEM
 */
int  calibration_without(const struct calibration *c, const bool *without, struct constants_table *out);

#endif
