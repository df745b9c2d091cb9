/*
 * carry_out.h - call the runner (heshare/run.h) with this program as guard and wrapper.
 */
#ifndef HES_CLI_RUN_CARRY_OUT_H
#define HES_CLI_RUN_CARRY_OUT_H

#include "heshare/run.h"

/** Remove the variables that choose GPUs, MPS daemons, shares and memory: heshare chooses them. */
void run_clear_environment(void);

/** Keep the signals that stop a run taken until the program ends: after a run there is nothing to
 * stop, and the report is still printed. The reader of the output may go away before that. */
void run_keep_stops(void);

/**
 * Carry the plan of @q out; guard and wrap of @q are set here.
 * @param log_max  of a job's output, as text: "1G"
 * @return as hes_run_carry_out()
 */
int run_carry_out(struct hes_run_request *q, const char *log_max, struct hes_journal *journal,
		  struct hes_run *run, struct hes_run_report *out, struct hes_err *err);

#endif
