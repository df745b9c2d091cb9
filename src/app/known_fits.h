/*
 * known_fits.h - workloads that a user added to the GPU model, or that it knows from a profile
 * alone: fit them, and list how well.
 */
#ifndef HES_APP_KNOWN_FITS_H
#define HES_APP_KNOWN_FITS_H

#include "model/fit_profile.h"

struct app_fits {
	struct hes_model_fit *v; /* owned: free() it */
	size_t n;
};

/**
 * Fit the workloads of profiles that the model does not know.
 * @param profiles  file or folder
 * @return 0, or what reading them or hes_model_add_workload() returns
 */
int app_fits_all(struct hes_model *m, const struct hes_catalogue *c, const char *profiles,
		 struct app_fits *fits, struct hes_err *err);

/** Also list the workload if its user added it. @return 0; -ENOMEM */
int app_fits_own(const struct hes_workload *w, struct app_fits *fits, struct hes_err *err);

#endif
