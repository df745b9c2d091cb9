/*
 * profiles_drift.h - whether a predictor of the store should be trained again: its errors on
 * samples that came after its training, against those at validation.
 */
#ifndef HES_APP_PROFILES_DRIFT_H
#define HES_APP_PROFILES_DRIFT_H

#include "heshare/drift.h"
#include "heshare/store.h"

struct drift_request {
	const char *predictor; /* file; NULL: the one that predicted last */
	uint64_t last;         /* forecasts of each type */
	bool with_modelled;    /* forecasts of modelled samples, too */
};

/** Errors of one output of a predictor on one GPU type. */
struct drift_group {
	char gpu_type[HES_NAME_MAX]; /* "all": of all types together */
	const char *output;          /* "time", "power" */
	struct hes_drift drift;
};

struct drift_report {
	struct hes_store_forecaster of;
	struct drift_group *groups;
	size_t n_groups, n_due;
};

/**
 * Judge a predictor of the store by its latest @q->last forecasts of each type.
 * @return 0; -ENOENT the store has none (of this predictor)
 */
int drift_report_make(struct hes_store *s, const struct drift_request *q, struct drift_report *out,
		      struct hes_err *err);
void drift_report_free(struct drift_report *r);

#endif
