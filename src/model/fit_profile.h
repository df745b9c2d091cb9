/*
 * fit_profile.h - the GPU model's parameters of a workload that only its profile knows.
 */
#ifndef HES_MODEL_FIT_PROFILE_H
#define HES_MODEL_FIT_PROFILE_H

#include "heshare/model.h"
#include "heshare/profile.h"

#define HES_MODEL_MAX_FIT_POINTS 128

/** How well fitted parameters reproduce the profile. Errors are means of |model / measured - 1|. */
struct hes_model_fit {
	char   workload[HES_NAME_MAX];
	char   nearest[HES_NAME_MAX];  /* the known network that it was fitted from */
	size_t points;                 /* profiled batch sizes and GPU types that it was fitted to, at most HES_MODEL_MAX_FIT_POINTS */
	double time_error, power_error;
};

/**
 * Add a workload to the model: the testbed's network that needs the least change to reproduce the profile, changed by
 * least squares. What a few points do not determine stays as in that network. Only profiles of GPU types count that
 * catalogue and model know; of more than HES_MODEL_MAX_FIT_POINTS so many are taken, evenly in their order. Earlier pointers to the model's workloads become invalid.
 * @param out  written on success only
 * @return 0; -ENOENT no such profile of the workload; -EEXIST the model knows the workload; -ENOMEM
 */
int hes_model_fit_profile(struct hes_model *m, const struct hes_catalogue *c, const struct hes_profiles *profiles,
			  const char *workload, struct hes_model_fit *out, struct hes_err *err);

#endif
