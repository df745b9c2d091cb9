/*
 * linear.h - least squares with a constant; a missing value counts as its column's mean.
 */
#ifndef PAPERS_HESHARE_LINEAR_H
#define PAPERS_HESHARE_LINEAR_H

#include "trees/boosting.h"

/**
 * Columns that do not vary, or that other columns determine, get the slope 0.
 * @param weights  of each output: n_features slopes and the constant
 * @param means    of each feature
 * @return 0 or -ENOMEM
 */
int linear_fit(const struct training_rows *rows, double *weights, double *means);

#endif
