/*
 * profiles.h - the options and actions of `heshare profiles`.
 */
#ifndef HES_CLI_PROFILES_PROFILES_H
#define HES_CLI_PROFILES_PROFILES_H

#include <jansson.h>

#include "app/known_store.h"
#include "cli/opt.h"

struct profiles_opts {
	const char *store;
	const char *as; /* one of hes_source_names */
	const char *when;
	const char *catalogue;
	double wait_s;
	bool json, with_modelled;
	bool sets;
};

int profiles_open(const struct profiles_opts *o, enum hes_store_mode mode, struct hes_store **out,
		  struct hes_err *err);

/** Commands behind `heshare profiles`; their options are a struct profiles_opts. */
int profiles_list(const struct call *call, struct hes_err *err);
int profiles_show(const struct call *call, struct hes_err *err);

/** The names that the workload of an operand may have: as it is given, that of a command, that of
 * its whole run. @return false: there is no @i-th */
bool profiles_name(unsigned i, const char *operand, char out[HES_NAME_MAX]);

#endif
