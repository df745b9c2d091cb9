/*
 * prepared.h - many predictions of the same placements: what does not depend on co-runners is
 * computed once.
 *
 * hes_predict() does all steps for one query. A planner instead prepares a job on a GPU type, then
 * each of its settings, and predicts these with many sets of co-runners. All functions but new are
 * pure, thread-safe and allocate nothing; predictions are those of hes_predict() and
 * hes_predict_load_add().
 */
#ifndef HES_PREDICT_PREPARED_H
#define HES_PREDICT_PREPARED_H

#include "heshare/predict.h"

/** A job on GPUs of a type. */
struct hes_prepared_job;
/** ... with an SM share, at a clock. */
struct hes_prepared;

/** The parts of an estimate that cost least. */
struct hes_quick_estimate {
	double iteration_us;
	uint32_t power_mw;
	uint32_t outside; /* of the training range: enum hes_outside */
};

/** Predictor, type and profile must outlive it. @return NULL out of memory */
struct hes_prepared_job *hes_prepared_job_new(const struct hes_predictor *p,
					      const struct hes_gpu_type *g,
					      const struct hes_profile *solo);
void hes_prepared_job_free(struct hes_prepared_job *j);

/** @param j  must outlive it. @return NULL out of memory */
struct hes_prepared *hes_prepared_new(const struct hes_prepared_job *j,
				      const struct hes_setting *s);
void hes_prepared_free(struct hes_prepared *p);

/** What hes_predict_load_add() adds to an empty load; hes_load_join() adds it to others. */
const struct hes_load *hes_prepared_load(const struct hes_prepared *p);

void hes_prepared_predict(const struct hes_prepared *p, const struct hes_load *co_runners,
			  struct hes_quick_estimate *out);
double hes_prepared_widening(const struct hes_prepared *p, const struct hes_load *co_runners);

#endif
