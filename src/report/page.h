/*
 * page.h - the HTML page around the figures.
 */
#ifndef HES_REPORT_PAGE_H
#define HES_REPORT_PAGE_H

#include <stdio.h>

#include "heshare/report.h"

/** Declaration, style sheet, title, headline figures and facts. */
void page_head(FILE *f, const struct hes_report *r);
/** How to read it, tables of GPUs and jobs, how to make it again. */
void page_foot(FILE *f, const struct hes_report *r);

#endif
