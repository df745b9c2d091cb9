/*
 * run_shown.h - call the runner (heshare/run.h) with this program as guard and wrapper, and listen
 * to it: messages and a line of progress on standard error, and the table of a rehearsal.
 */
#ifndef HES_CLI_RUN_RUN_SHOWN_H
#define HES_CLI_RUN_RUN_SHOWN_H

#include "heshare/run.h"

/** Remove the line of progress, before something else is printed. */
void run_clear_line(void);

/* Of struct hes_run_listener; @ctx is the command's name for messages; NULL: "run". */
void run_show_message(void *ctx, const char *sentence);
void run_show_progress(void *ctx, const struct hes_run_progress *p);
/* Of a rehearsal; @ctx is the table (report/table.h) that its acts are added to. */
void run_show_rehearsal(void *ctx, const char *sentence);
void run_show_act(void *ctx, int64_t at_us, const char *gpu, const char *job, const char *what);

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
