/*
 * check.h - the model's errors against published measurements.
 */
#ifndef TOOLS_CHECK_H
#define TOOLS_CHECK_H

#include "measured/observe.h"

/** Whether a job of an observation is of this workload. */
bool hes_has_workload(const struct hes_observation *o, const char *name);

/** The model's value for an observation. @return 0 or the error of hes_model_instant */
int hes_reproduce(const struct hes_model *m, const struct hes_observation *o, double *out,
		  struct hes_err *err);

enum hes_check_kind {
	HES_CHECK_FITTED,    /* parameters were fitted on these very values */
	HES_CHECK_HELD_BACK, /* they were fitted on other values of this GPU */
	HES_CHECK_PREDICTED, /* they were not fitted on this set */
	HES_CHECK_LEFT_OUT,  /* each network's values from a fit without it */
	HES_CHECK_CHOSEN,    /* not fitted, but the form was chosen with these values in view */
	HES_CHECK_RULE,      /* the same values by a simple rule, to compare */
};

struct hes_check_row {
	const struct hes_series *series;
	const char *set; /* the series', or the GPU's name; owned by the observations */
	bool held;       /* the part of a measured GPU that no fit uses */
	enum hes_check_kind kind;
	size_t n;      /* values; 0: the set is not there */
	double median; /* of |model / measured - 1| */
	double mean;   /* of the same */
	double p90;
	double right_sign; /* part of the measured changes (ratios 5 % or more from 1, where the cap
			      is below what the job draws) that the model has the sign of */
	double rank; /* Spearman's correlation of model and measured, of slowdowns; NAN: none */
	bool met;    /* every target of the series; true where there is none. A form that was
			chosen with these values in view can miss a target, but not meet one */
};

struct hes_check {
	struct hes_check_row *rows;
	size_t n;
};

/**
 * Reproduce every observation and sum up a series a row: HES_SERIES_PUBLISHED rows first, then
 * for each measured GPU its series that have values, the part to fit on before the part held back.
 * @param out  set on success; hes_check_free it, before @o
 * @return 0; -ENOMEM; or the error of a set-up the model cannot take
 */
int hes_model_check(const struct hes_model *m, const struct hes_observations *o,
		    struct hes_check *out, struct hes_err *err);
void hes_check_free(struct hes_check *c);

/** "fitted", "held back", "predicted", "left out", "chosen in view", "rule". */
const char *hes_check_kind_name(enum hes_check_kind k);

#endif
