/*
 * run_report.h - the report of a run next to its plan, and why jobs failed, as text or JSON.
 */
#ifndef HES_CLI_RUN_RUN_REPORT_H
#define HES_CLI_RUN_RUN_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/quantity.h"
#include "heshare/journal.h"
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

/**
 * Print the first failed jobs.
 * @param folder   of the run
 * @param by_node  files of a job are in the folder NODE of it, by the name of its GPU
 * @param more     where the others are to be found: "report.json has their last lines"
 */
void job_failures_print(FILE *f, const struct hes_run_job *jobs, size_t n, const char *folder,
			bool by_node, const char *more);

/** @return null for a job that neither failed nor ended early */
json_t *job_failure_json(const struct hes_run_job *j, const char *folder, bool by_node);

#endif
