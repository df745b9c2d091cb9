/*
 * run_shown.h - the listener of `heshare run`: messages and a line of progress on standard error,
 * and the table of a rehearsal.
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

#endif
