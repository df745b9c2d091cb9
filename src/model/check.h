/*
 * check.h - the model's errors against published measurements.
 */
#ifndef HES_MODEL_CHECK_H
#define HES_MODEL_CHECK_H

#include "model/observe.h"

struct hes_held_out;

/** Whether an observation is of this pair of workloads, together on a board. */
bool hes_is_pair(const struct hes_observation *o, const struct hes_held_out *pair);

/** The model's value for an observation. @return 0 or the error of hes_model_instant */
int hes_reproduce(const struct hes_model *m, const struct hes_observation *o, double *out,
		  struct hes_err *err);

struct hes_check_row {
	const struct hes_series *series;
	size_t n;        /* values; 0: the set is not there */
	double median;   /* of |model / measured - 1| */
	double p90;
	bool   met;      /* every target of the series; true where there is none */
};

/**
 * Reproduce every observation and sum up a series a row, HES_SERIES_COUNT rows.
 * @return 0; -ENOMEM; or the error of a set-up the model cannot take
 */
int hes_model_check(const struct hes_model *m, const struct hes_observations *o,
		    struct hes_check_row *rows, struct hes_err *err);

#endif
