/*
 * fit_options.h - the options of a regressor: defaults of each kind, and checks.
 */
#ifndef HES_TREES_FIT_OPTIONS_H
#define HES_TREES_FIT_OPTIONS_H

#include "heshare/regressor.h"

/**
 * Check options and replace 0 by defaults; options that a kind does not use become 0.
 * @return 0 or -EINVAL
 */
int options_settle(const struct hes_regressor_options *given, size_t n_rows, size_t n_features,
		   struct hes_regressor_options *out, struct hes_err *err);

#endif
