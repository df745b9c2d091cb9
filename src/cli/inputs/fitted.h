/*
 * fitted.h - workloads that a user added to the GPU model, or that it knows from a profile alone:
 * fit them, print how well.
 */
#ifndef HES_CLI_INPUTS_FITTED_H
#define HES_CLI_INPUTS_FITTED_H

#include <jansson.h>

#include "model/fit_profile.h"

struct cli_fits {
	struct hes_model_fit *v; /* owned: free() it */
	size_t n;
};

/**
 * Fit the workloads of profiles that the model does not know.
 * @param profiles  file or folder
 * @return 0, or what reading them or hes_model_add_workload() returns
 */
int cli_fit_all(struct hes_model *m, const struct hes_catalogue *c, const char *profiles,
		struct cli_fits *fits, struct hes_err *err);

/** Also list the workload if its user added it. @return 0; -ENOMEM */
int cli_fits_own(const struct hes_workload *w, struct cli_fits *fits, struct hes_err *err);

/** How well, and the error to expect, a line each. */
void cli_fits_print(const struct hes_model_fit *v, size_t n);
json_t *cli_expected_json(const struct hes_expected_error *e);
/** @return a list; NULL where there are none */
json_t *cli_fits_json(const struct hes_model_fit *v, size_t n);

#endif
