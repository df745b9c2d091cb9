/*
 * observation.h - samples in the form that a predictor is trained on: queries, their results, and
 * the profiles of co-runners that are known by name.
 *
 * The power before a task started was read once, with the meter's noise. Named co-runners give a
 * second estimate: each joins those before it, as in a plan, by the same baseline.
 */
#ifndef HES_PREDICT_OBSERVATION_H
#define HES_PREDICT_OBSERVATION_H

#include "predict/baseline/constants.h"

/** A co-runner with its solo profile. */
struct named_co_runner {
	struct hes_profile solo;
	uint32_t sm_pct;
};

/** A query and its measured results. */
struct observation {
	struct query query; /* of the setting and the load below: observation_relink() */
	struct hes_setting setting;
	struct hes_load co_runners;
	double iteration_us;
	double power_w;
	double weight;      /* in training; 1: as much as a measurement without error */
	bool modelled;      /* a sample of the prior */
	bool power_unknown; /* of the co-runners alone: it is predicted */
	const struct named_co_runner *named; /* all co-runners in the sample's order, or none */
	size_t n_named;
};

struct observations {
	struct observation *v;
	size_t n;
	struct named_co_runner *named; /* of all */
};

/** @return 0; -EINVAL, -ENOENT a sample that is invalid; -ENOMEM */
int observations_init(struct observations *o, const struct hes_samples *s,
		      const struct hes_catalogue *c, struct hes_err *err);
void observations_finish(struct observations *o);

/** Point a copy's query at the copy's own setting and load. */
void observation_relink(struct observation *o);

/**
 * Compute the load from named co-runners with these constants, except power_mw. Without names it
 * stays as it is.
 * @param kernel_us  [o->n_named], what each adds to the load's kernel_us; or NULL
 */
void observation_predict_load(const struct constants_table *t, struct observation *o,
			      double *kernel_us);

/** The co-runner that joined last before the task. NULL: there is none with a name. */
const struct named_co_runner *observation_last_named(const struct observation *o);

/**
 * A table for the most frequent types and workloads of observations, at their priors. The co-runner
 * that joined last has constants of its own even if it was never sampled as a task, as it has in
 * folds (calibration_without()).
 * @return 0 or -ENOMEM
 */
int observations_constants(const struct observation *v, size_t n, struct constants_table *out);

#endif
