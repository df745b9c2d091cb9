/*
 * fit_options.h - a regressor's options: each kind's defaults, and what it refuses.
 */
#ifndef HES_TREES_FIT_OPTIONS_H
#define HES_TREES_FIT_OPTIONS_H

#include "heshare/regressor.h"

/**
 * Check options and put defaults in place of what is 0; what a kind has no use for becomes 0.
 * @return 0 or -EINVAL
 */
int options_settle(const struct hes_regressor_options *asked, size_t n_rows, size_t n_features, size_t n_outputs,
		   struct hes_regressor_options *out, struct hes_err *err);

#endif
