/*
 * page_tables.h - the tables of a report: policies, GPUs, jobs.
 */
#ifndef HES_REPORT_PAGE_TABLES_H
#define HES_REPORT_PAGE_TABLES_H

#include <stdio.h>

#include "heshare/report.h"

/** Every policy, the best of each column marked, differences to the reference. */
void table_policies(FILE *f, const struct hes_report *r);
void table_gpus(FILE *f, const struct hes_report *r);
/** Every job, or the first TABLE_MAX_JOBS and a line that says so. */
#define TABLE_MAX_JOBS 20000
void table_jobs(FILE *f, const struct hes_report *r);

#endif
