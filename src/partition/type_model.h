/*
 * type_model.h - what was learnt of jobs that share a GPU of one type. type_learn.c learns it.
 */
#ifndef HES_PARTITION_TYPE_MODEL_H
#define HES_PARTITION_TYPE_MODEL_H

#include "partition/co_run.h"
#include "trees/boosting.h"

enum { TYPE_RATE, TYPE_POWER, TYPE_OUTPUTS };
enum { TYPE_UNSEEN, TYPE_SEEN, TYPE_KINDS }; /* whether these jobs were measured together */

/** The constants of a GPU type in the closed form. A prior for the type; jobs that were measured
 * together move it. */
struct interference {
	double mean[CO_CONSTANTS], sd[CO_CONSTANTS];
	double rest; /* spread of the logarithm of work per watt that no constant explains */
};

struct type_base {
	uint32_t clock_mhz;
	double watts; /* co_base_w() */
};

struct type_model {
	const struct hes_gpu_type *g;
	struct hes_partition_info info;
	struct interference interference;
	struct ensemble trees[TYPE_OUTPUTS];     /* logarithms of corrections */
	double weight[TYPE_OUTPUTS][TYPE_KINDS]; /* of the corrections, 0..1 */
	struct type_base *bases;                 /* of each clock that was profiled */
	size_t n_bases;
	uint64_t *known; /* co_run_who() of the sets it learnt from; sorted */
	size_t n_known;
};

/** @return owned by @m; NULL: @m was not trained for @g */
const struct type_model *partition_type_model(const struct hes_partition_model *m,
					      const struct hes_gpu_type *g);

/** Learn one type, m->g; free with type_model_free(), also after a failure. @return 0 or -ENOMEM */
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

/** For type_learn.c: rates and power of a set whose closed form is known, and the logarithms of the
 * corrections, of each job and of the power. */
void type_model_combine(const struct type_model *m, const struct co_run *r, int kind,
			const double *rate, double power, struct hes_partition_estimate *out);

/** By rising number; both point to a uint64_t. */
int type_compare_who(const void *a, const void *b);

#endif
