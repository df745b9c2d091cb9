/*
 * prepared.h - many predictions of the same placements: what does not depend on co-runners is
 * computed once.
 *
 * hes_predict() does all steps for one query. A planner instead prepares a job with its setting,
 * and predicts it with many sets of co-runners. All functions are pure, thread-safe and allocate
 * nothing; predictions are those of hes_predict() and hes_predict_load_add().
 */
#ifndef HES_PREDICT_PREPARED_H
#define HES_PREDICT_PREPARED_H

#include "predict/predictor.h"

/** A job on GPUs of a type with an SM share, at a clock. */
struct hes_prepared {
	const struct hes_predictor *p;
	const struct hes_gpu_type *gpu;
	const struct hes_profile *task;
	struct hes_setting setting;
	struct hes_load load; /* what hes_predict_load_add() adds to an empty one */
	struct base_task t;
	struct base_setting b;
	struct range_position place;
};

/** The parts of an estimate that cost least. */
struct hes_quick_estimate {
	double iteration_us;
	uint32_t power_mw;
	uint32_t outside; /* of the training range: enum hes_outside */
};

/** Predictor, type and profile must outlive @out. */
void hes_prepare(const struct hes_predictor *p, const struct hes_gpu_type *g,
		 const struct hes_profile *task, const struct hes_setting *s,
		 struct hes_prepared *out);

void hes_prepared_predict(const struct hes_prepared *r, const struct hes_load *co_runners,
			  struct hes_quick_estimate *out);
double hes_prepared_widening(const struct hes_prepared *r, const struct hes_load *co_runners);

#endif
