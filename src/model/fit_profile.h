/*
 * fit_profile.h - the GPU model's parameters of a workload that only its profile or public facts
 * describe.
 */
#ifndef HES_MODEL_FIT_PROFILE_H
#define HES_MODEL_FIT_PROFILE_H

#include "heshare/model.h"
#include "heshare/profile.h"
#include "model/workload_prior.h"

#define HES_MODEL_MAX_FIT_POINTS 128

/* How well the model can reproduce measurements; of a part of the GPU, which counters measure less
 * well. */
#define HES_FIT_TIME_TOLERANCE  0.05
#define HES_FIT_POWER_TOLERANCE 0.05
#define HES_FIT_PART_TOLERANCE  0.15

/**
 * The error to expect: measured networks were left out, one by one with all of their family, and
 * added again in the same way. The medians are of max(model / true, true / model) - 1, where true
 * is what the model says with its own parameters.
 */
struct hes_expected_error {
	size_t networks;
	double time_alone, time_shared; /* medians, alone and with a co-runner */
	double co_runner;               /* of the co-runner's time */
	double power_median;
	struct hes_factors time,
		power; /* measured / model, alone and shared; with the error of the model itself */
};

/** What was added. time_error and power_error are means of |model / measured - 1| over the points.
 */
struct hes_model_fit {
	char workload[HES_NAME_MAX];
	char nearest[HES_NAME_MAX]; /* the known network with the nearest parameters */
	size_t points; /* profiled batch sizes and GPU types that it was fitted to, at most
			  HES_MODEL_MAX_FIT_POINTS */
	double time_error, power_error;
	struct hes_expected_error expected;
};

struct hes_fit_point {
	const struct hes_profile *measured; /* power_mw, sm_util and busy may be 0: unknown */
	const struct hes_gpu_type *type;
};

/**
 * Add a workload to the model: what the known networks and the facts say of it, changed by least
 * squares to reproduce its profile. Only profiles of GPU types count that catalogue and model know;
 * of more than HES_MODEL_MAX_FIT_POINTS so many are taken, evenly in their order. It replaces one
 * that the user added before. Earlier pointers to the model's workloads become invalid.
 * @param facts     NULL: nothing is known
 * @param profiles  NULL: there is none, the facts are all
 * @param out       written on success only
 * @return 0; -ENOENT no such profile of the workload, or facts->like is no known network; -EEXIST
 * the model knows the workload; -ENODATA too few known networks; -ENOMEM
 */
int hes_model_add_workload(struct hes_model *m, const struct hes_catalogue *c, const char *name,
			   const struct hes_workload_facts *facts,
			   const struct hes_profiles *profiles, struct hes_model_fit *out,
			   struct hes_err *err);

/** The parameters alone, without names, memory and the error to expect. @param nearest  may be NULL
 */
int hes_fit_workload(const struct hes_model *m, const struct hes_workload_facts *facts,
		     const struct hes_fit_point *points, size_t n, struct hes_workload *out,
		     const struct hes_workload **nearest, struct hes_err *err);

#endif
