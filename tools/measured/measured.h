/*
 * measured.h - GPUs measured in our own format (bench/gpu/measured.md) as
 * observations; observe.h calls this.
 */
#ifndef TOOLS_MEASURED_H
#define TOOLS_MEASURED_H

#include "model/measured_about.h"
#include "measured/observe.h"

/**
 * Add the observations of the measured GPU in @dir, or of every folder in it that holds
 * one, by name; none is no error. Arguments and result as of hes_observe.
 */
int hes_observe_gpus(const struct hes_model *m, const struct hes_catalogue *c, const char *dir,
		     bool tests, struct hes_observations *out, struct hes_err *err);

/**
 * Add what the tables in @dir hold to the last GPU of @out. Tables that are not there are skipped.
 * @param gpu    the type with the GPU's own limit, idle power, SMs and clocks
 * @param style  of the programs that ran
 */
int hes_observe_tables(const struct hes_model *m, const char *dir, const struct hes_gpu_type *gpu,
		       enum hes_style style, struct hes_observations *out, struct hes_err *err);

/**
 * The part that no fit may use. Alone: shares of 30, 60 and 90 %, and at locked clocks half of the
 * workloads. Pairs: half of the pairs of workloads, whatever batch, precision and split. Chosen by
 * a hash of names.
 */
bool hes_held_back_alone(const char *workload, uint32_t share_pct, bool locked_clock);
bool hes_held_back_pair(const char *one, const char *two);

/**
 * Add those workloads of every network of the testbed that the model does not have yet, derived
 * from the testbed's own. To be called before anything points to a workload of @m.
 * @return 0; -ENOMEM
 */
int hes_model_add_inference(struct hes_model *m, struct hes_err *err);

#endif
