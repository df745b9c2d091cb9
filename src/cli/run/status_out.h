/*
 * status_out.h - print runs for `heshare status`, as text or JSON.
 */
#ifndef HES_CLI_RUN_STATUS_OUT_H
#define HES_CLI_RUN_STATUS_OUT_H

#include <jansson.h>
#include <stdio.h>

#include "app/run_view.h"
#include "report/table.h"

/** A run that goes on, or was named: its jobs that run, and its GPUs. */
void status_print(FILE *f, const struct run_view *v);
/** Add a run that has ended. */
void status_row(struct table *t, const struct run_view *v);
/** @param all  also each job */
json_t *status_json(const struct run_view *v, bool all);

#endif
