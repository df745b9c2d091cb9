/*
 * workload_prior.h - what the known networks and public facts say about the parameters of a
 * workload that nobody measured.
 */
#ifndef HES_MODEL_WORKLOAD_PRIOR_H
#define HES_MODEL_WORKLOAD_PRIOR_H

#include "model/params.h"

#define HES_PRIOR_PARAMS \
	10 /* parameters that are estimated; the others are typical of the known networks */

/** What papers and libraries publish of a network. Members that are 0 or NULL are not known. */
struct hes_workload_facts {
	double gflop_per_item;       /* multiply and add count two */
	double weights_mib;          /* in the arithmetic that it runs in */
	double traffic_mib_per_item; /* DRAM traffic: activations, written and read */
	double kernels;              /* launches of an iteration */
	const char *like;            /* a known network that resembles it */
	enum hes_style style;        /* host time and start-up are those of the style */
	bool has_math;
	enum hes_math math;
};

/** Normal distributions of the logarithms of parameters. */
struct hes_workload_prior {
	struct hes_workload base; /* what is not estimated */
	double mean[HES_PRIOR_PARAMS];
	double spread[HES_PRIOR_PARAMS]; /* standard deviations */
};

/**
 * Means and spreads over the known networks: those of the published PyTorch measurements, each
 * once. A parameter that grows with a fact (work with operations, host time with kernels) is
 * estimated as a multiple of it.
 * @param math  arithmetic of the workload
 * @return 0; -ENOENT facts->like is no known network, with their names; -ENODATA the model has
 * fewer than 4 of them
 */
int hes_workload_prior(const struct hes_model *m, const struct hes_workload_facts *facts,
		       enum hes_math math, struct hes_workload_prior *out, struct hes_err *err);

/** Whether the prior counts the @i-th workload of the model. */
bool hes_prior_counts(const struct hes_model *m, size_t i);

/** The parameters at @x, logarithms against the means. */
struct hes_workload hes_prior_at(const struct hes_workload_prior *p, const double *x);

/** The known network whose parameters are nearest to those of @w, in spreads. */
const struct hes_workload *hes_prior_nearest(const struct hes_model *m,
					     const struct hes_workload_prior *p,
					     const struct hes_workload *w);

#endif
