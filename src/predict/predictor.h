/*
 * predictor.h - the parts of a trained predictor.
 */
#ifndef HES_PREDICT_PREDICTOR_H
#define HES_PREDICT_PREDICTOR_H

#include "predict/baseline/constants.h"
#include "predict/features.h"
#include "predict/interval.h"
#include "trees/boosting.h"

#define PREDICTOR_TIME    0 /* outputs of the trees */
#define PREDICTOR_POWER   1
#define PREDICTOR_OUTPUTS 2

#define PREDICTOR_MAX_W 4e6 /* greatest prediction of power */

/** Constant once made; any number of threads may share it. */
struct hes_predictor {
	struct hes_predictor_info about;
	struct constants_table constants; /* of the baseline */
	struct training_range range;      /* the training range */
	struct interval interval;
	/* of the trees' output, 0..1; from samples that were left out */
	double weight[PREDICTOR_OUTPUTS];
	struct ensemble residual; /* log(time / baseline), log(power / baseline) */
};

/** A query with its baseline. Needs the constants of @p. */
void predictor_query(const struct hes_predictor *p, const struct hes_gpu_type *g,
		     const struct hes_profile *task, const struct hes_setting *s,
		     const struct hes_load *co_runners, struct query *out);

/**
 * Compute the load of an observation from its named co-runners. Needs the constants and
 * the range of @p.
 */
void predictor_set_load(const struct hes_predictor *p, struct observation *o);

/**
 * Fit the residual. Needs the constants of @p; fills p->residual and the CRC of the
 * samples.
 * @return 0 or -ENOMEM
 */
int predictor_fit_residual(struct hes_predictor *p, const struct observation *v, size_t n,
			   const struct boosting_options *o, struct hes_err *err);

/** Time in us and power in W from baseline and residual; positive and finite. @q with its baseline
 */
void predictor_predict(const struct hes_predictor *p, const struct query *q,
		       double out[PREDICTOR_OUTPUTS]);

/** Out-of-distribution distances of a query. @q with its baseline */
struct range_distance predictor_distance(const struct hes_predictor *p, const struct query *q);

#endif
