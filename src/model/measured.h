/*
 * measured.h - boards measured in our own format (docs/formats/measured.md) as
 * observations; observe.h calls this.
 */
#ifndef HES_MODEL_MEASURED_H
#define HES_MODEL_MEASURED_H

#include "model/observe.h"

/**
 * Add the observations of the measured board in @dir, or of every folder in it that holds
 * one, by name; none is no error. Arguments and result as of hes_observe.
 */
int hes_observe_boards(const struct hes_model *m, const struct hes_catalogue *c, const char *dir, bool tests,
		       struct hes_observations *out, struct hes_err *err);

/**
 * Add what the tables in @dir hold to the last board of @out. Tables that are not there are skipped.
 * @param gpu  the type with the board's own limit, idle power, SMs and clocks
 */
int hes_observe_tables(const struct hes_model *m, const char *dir, const struct hes_gpu_type *gpu,
		       struct hes_observations *out, struct hes_err *err);

/**
 * The part that no fit may use. Alone: shares of 30, 60 and 90 %, and at locked clocks half of the
 * workloads. Pairs: half of the pairs of workloads, whatever batch, precision and split. By a hash of names.
 */
bool hes_held_back_alone(const char *workload, uint32_t share_pct, bool locked_clock);
bool hes_held_back_pair(const char *one, const char *two);

/** Name in the model of a workload in "fp16", "fp32" or "tf32" on a board with or without TF32 units. */
void hes_variant_name(char name[HES_NAME_MAX], const char *workload, const char *precision, bool has_tf32);

#endif
