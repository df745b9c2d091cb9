/*
 * fitted.h - print how well workloads of the GPU model were fitted.
 */
#ifndef HES_CLI_INPUTS_FITTED_H
#define HES_CLI_INPUTS_FITTED_H

#include <jansson.h>

#include "model/fit_profile.h"

/** How well, and the error to expect, a line each. */
void cli_fits_print(const struct hes_model_fit *v, size_t n);
json_t *cli_expected_json(const struct hes_expected_error *e);
/** @return a list; NULL where there are none */
json_t *cli_fits_json(const struct hes_model_fit *v, size_t n);

#endif
