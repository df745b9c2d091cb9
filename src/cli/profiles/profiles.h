/*
 * profiles.h - the options and actions of `heshare profiles`.
 */
#ifndef HES_CLI_PROFILES_PROFILES_H
#define HES_CLI_PROFILES_PROFILES_H

#include <jansson.h>

#include "app/known_store.h"
#include "heshare/drift.h"

struct profiles_opts {
	const char *store;
	const char *as; /* one of hes_source_names */
	const char *when;
	const char *predictor;
	const char *catalogue;
	uint64_t last;
	double wait_s;
	bool with_modelled;
	bool json;
};

/** One word after `heshare profiles`. Its run returns 0, 1 or 2, and prints why. */
struct profiles_action {
	const char *name;
	const char *operands; /* as shown */
	int min, max;
	int (*run)(const struct profiles_opts *o, int n, char **operands);
};

int profiles_open(const struct profiles_opts *o, enum hes_store_mode mode, struct hes_store **out,
		  struct hes_err *err);

int profiles_list(const struct profiles_opts *o, int n, char **operands);
int profiles_show(const struct profiles_opts *o, int n, char **operands);
int profiles_import(const struct profiles_opts *o, int n, char **operands);
int profiles_drift(const struct profiles_opts *o, int n, char **operands);

/** points.csv in a folder that is there, each row with what several points tell of its job. */
int profiles_save_points(const char *folder, const char *catalogue, const struct hes_points *points,
			 struct hes_err *err);

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
 * Judge a predictor of the store by its latest @o->last forecasts of each type.
 * @return 0; -ENOENT the store has none (of this predictor)
 */
int drift_report_make(struct hes_store *s, const struct profiles_opts *o, struct drift_report *out,
		      struct hes_err *err);
void drift_report_free(struct drift_report *r);
/** "retraining is due: ..." or nothing. */
void drift_report_print_due(const struct drift_report *r, FILE *f);

#endif
