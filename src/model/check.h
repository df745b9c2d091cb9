/*
 * check.h - the model's errors against published measurements.
 */
#ifndef HES_MODEL_CHECK_H
#define HES_MODEL_CHECK_H

#include "model/observe.h"

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
