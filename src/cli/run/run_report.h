/*
 * run_report.h - the report of a run next to its plan, as text or JSON.
 */
#ifndef HES_CLI_RUN_RUN_REPORT_H
#define HES_CLI_RUN_RUN_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "base/quantity.h"
#include "heshare/run.h"
#include "report/table.h"

typedef const char *run_report_unit(char out[HES_QUANTITY_MAX], double v);

/** Add a row: what was expected, under @heading (0: not known), what was measured, and the
 * difference. */
void run_report_compare(struct table *t, const char *what, const char *heading, double expected,
			double measured, run_report_unit *unit, bool known);
void run_report_text(FILE *f, const struct hes_run_report *r);
/** The caller owns what is returned; NULL without memory. */
json_t *run_report_json(const struct hes_run_report *r);

#endif
