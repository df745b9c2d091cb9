/*
 * type_model.h - what was learnt of jobs that share a GPU of one type.
 */
#ifndef HES_PARTITION_TYPE_MODEL_H
#define HES_PARTITION_TYPE_MODEL_H

#include "partition/co_features.h"
#include "partition/interference.h"

enum { TYPE_RATE, TYPE_POWER, TYPE_OUTPUTS };
enum { TYPE_UNSEEN, TYPE_SEEN, TYPE_KINDS }; /* whether these jobs were measured together */

/** One learnt output. */
struct type_output {
	struct hes_regressor *trees; /* NULL: none */
	double weight[TYPE_KINDS];   /* of the correction, 0..1; 1 in the paper's method */
	float min[CO_FEATURES_MAX],
		range[CO_FEATURES_MAX]; /* the paper's scaling; range 0: not scaled */
};

struct type_base {
	uint32_t clock_mhz;
	double watts; /* co_base_w() */
};

struct type_model {
	const struct hes_gpu_type *g;
	struct hes_partition_info info;
	struct interference interference;
	struct type_output of[TYPE_OUTPUTS];
	struct type_base *bases; /* of each clock that was profiled */
	size_t n_bases;
	uint64_t *known; /* co_run_who() of the sets it learnt from; sorted */
	size_t n_known;
};

/**
 * Learn one type. m->g and m->info.options are set; free with type_model_free(), also after a
 * failure.
 * @return 0; -EINVAL as hes_partition_train(); -ENOMEM
 */
int type_model_learn(struct type_model *m, const struct hes_points *p,
		     const struct hes_share_profiles *solo, struct hes_err *err);
void type_model_free(struct type_model *m);

/** Power of the GPU with jobs that do nothing; idle power at a clock that was never profiled. */
double type_model_base_w(const struct type_model *m, uint32_t clock_mhz);
/** Jobs at a clock, their number and levels still missing. */
struct co_run type_model_run(const struct type_model *m, double clock_mhz, size_t n);
/** Predict jobs at their shares: @r without what the closed form fills. Pure, no allocation. */
void type_model_predict(const struct type_model *m, struct co_run *r,
			struct hes_partition_estimate *out);

/* For type_learn.c. */
bool type_model_paper(const struct type_model *m);
/** Columns of an output's rows. */
size_t type_model_width(const struct type_model *m, int output);
/** A row scaled and predicted: log of the correction, or in the paper's method the value. 0 without
 * trees. */
double type_output_predict(const struct type_output *o, size_t width, const float *row);
/** Rates' sum and power of a set from the outputs' predictions: of each job, or one for the sum in
 * the paper's method. */
void type_model_combine(const struct type_model *m, const struct co_run *r, int kind,
			const double *rate, double power, struct hes_partition_estimate *out);

#endif
