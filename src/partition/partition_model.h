/*
 * partition_model.h - a trained model as the search of splits asks it, without looking jobs up again.
 */
#ifndef HES_PARTITION_PARTITION_MODEL_H
#define HES_PARTITION_PARTITION_MODEL_H

#include "partition/co_run.h"

/** GPU power with jobs that do nothing; idle power for a type and clock that were never profiled. */
double partition_base_w(const struct hes_partition_model *m, const struct hes_gpu_type *g, uint32_t clock_mhz);

/** Predict jobs at their shares: @r without what the closed form fills. Pure, no allocation. */
void partition_predict_run(const struct hes_partition_model *m, struct co_run *r, struct hes_partition_estimate *out);

#endif
