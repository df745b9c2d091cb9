/*
 * page.h - the HTML page around the figures, and its tables: policies, GPUs, jobs.
 */
#ifndef HES_REPORT_PAGE_H
#define HES_REPORT_PAGE_H

#include <stdio.h>

#include "heshare/report.h"

/** Declaration, style sheet, title, headline figures and facts. */
void page_head(FILE *f, const struct hes_report *r);
/** How to read it, tables of GPUs and jobs, how to make it again. */
void page_foot(FILE *f, const struct hes_report *r);

/** Every policy, the best of each column marked, differences to the reference. */
void table_policies(FILE *f, const struct hes_report *r);
void table_gpus(FILE *f, const struct hes_report *r);
/** Every job, or the first TABLE_MAX_JOBS and a line that says so. */
#define TABLE_MAX_JOBS 20000
void table_jobs(FILE *f, const struct hes_report *r);

#endif
