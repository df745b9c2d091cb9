/*
 * profiles_export.h - write what the store has as profiles.csv, samples.csv and points.csv.
 *
 * A row of points also has two features of Han et al., computed from all points of its job and GPU
 * type: the throughput alone, and the throughput that one percent of the SMs adds.
 */
#ifndef HES_APP_PROFILES_EXPORT_H
#define HES_APP_PROFILES_EXPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "app/app.h"

struct export_request {
	const struct app *app;
	const char *store, *catalogue; /* files; NULL: the usual, none */
	const char *folder;            /* is made unless it is there */
	int wait_ms;
	bool with_modelled;
};

/** Rows that were written. */
struct exported {
	size_t profiles, samples, points;
};

/** @return 0; -ENOENT the store has no such rows; errors of reading and writing */
int profiles_export(const struct export_request *q, struct exported *out, struct hes_err *err);

#endif
