/*
 * profiles.h - the options and actions of `heshare profiles`.
 */
#ifndef HES_CLI_PROFILES_PROFILES_H
#define HES_CLI_PROFILES_PROFILES_H

#include <jansson.h>

#include "app/known_store.h"
#include "app/profiles_drift.h"

struct profiles_opts {
	struct drift_request drift;
	const char *store;
	const char *as; /* one of hes_source_names */
	const char *when;
	const char *catalogue;
	double wait_s;
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
int profiles_drift(const struct profiles_opts *o, int n, char **operands);

/** "retraining is due: ..." or nothing. */
void drift_report_print_due(const struct drift_report *r, FILE *f);

#endif
