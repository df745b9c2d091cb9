/*
 * run_totals.h - the report of a run that has ended.
 */
#ifndef HES_RUN_RUN_TOTALS_H
#define HES_RUN_RUN_TOTALS_H

#include "run/run_state.h"

/** Report results. The samples move to @out. */
int run_report(struct runner *r, struct hes_run_report *out, struct hes_err *err);

#endif
