/*
 * predictor.h - the parts of a trained predictor.
 */
#ifndef HES_PREDICT_PREDICTOR_H
#define HES_PREDICT_PREDICTOR_H

#include "predict/baseline/constants.h"
#include "predict/features.h"
#include "predict/interval.h"
#include "trees/regressor.h"

#define PREDICTOR_TIME    0 /* outputs of the regressor */
#define PREDICTOR_POWER   1
#define PREDICTOR_OUTPUTS 2

#define PREDICTOR_MAX_W   4e6 /* what it says of a board's power at most */

/** Constant once made; any number of threads may share it. */
struct hes_predictor {
	struct hes_predictor_info about;
	struct constants_table    constants; /* of the baseline */
	struct support            support;   /* where samples were taken */
	struct interval           interval;
	double                    weight[PREDICTOR_OUTPUTS]; /* of what the regressor says, 0..1: what held for samples left out */
	struct hes_regressor     *rest;      /* log(time / baseline), log(power / baseline); us and W when plain. Units and errors that it
					      * keeps are those of estimates: us, mW */
	struct feature_list       lists[FEATURE_NEEDS]; /* the recipe's features */
};

/** Tell of the regressor's options and errors; seed and recipe are there. */
void predictor_tell(struct hes_predictor *p);

/** What is worked out when all else is there; it is told of. */
void predictor_ready(struct hes_predictor *p);

/** Names of the features of a recipe; static. */
void predictor_feature_names(enum hes_recipe recipe, const char *names[FEATURE_COUNT]);

/** A query with its baseline told. Needs the constants and the recipe of @p. */
void predictor_query(const struct hes_predictor *p, const struct hes_gpu_type *g, const struct hes_profile *task,
		     const struct hes_setting *s, const struct hes_load *co_runners, struct query *out);

/** Let an observation's load hold what its named neighbours tell of themselves. Needs the constants, the recipe and the support of @p. */
void predictor_hear(const struct hes_predictor *p, struct observation *o);

/**
 * Learn what the baseline misses. Needs the constants and the recipe of @p; fills p->rest and the samples' CRC.
 * @return 0 or -errno with why
 */
int predictor_learn_rest(struct hes_predictor *p, const struct observation *v, size_t n,
			 const struct hes_regressor_options *o, struct hes_err *err);

/** Time in us and power in W, from what the regressor says of a query; positive and finite. @q with its baseline */
void predictor_weigh(const struct hes_predictor *p, const struct query *q, const double rest[PREDICTOR_OUTPUTS],
		     double out[PREDICTOR_OUTPUTS]);

/** The same, asking the regressor. @q with its baseline */
void predictor_say(const struct hes_predictor *p, const struct query *q, double out[PREDICTOR_OUTPUTS]);

/** How far a query is from the samples. @q with its baseline */
struct support_distance predictor_distance(const struct hes_predictor *p, const struct query *q);

#endif
