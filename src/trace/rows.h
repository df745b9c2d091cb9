/*
 * rows.h - rows of a trace held in memory, for what needs all of them:
 * picking at random, sorting, quantiles.
 */
#ifndef HES_TRACE_ROWS_H
#define HES_TRACE_ROWS_H

#include "heshare/trace.h"

struct rows {
	struct hes_trace_row *v;
	size_t n;
};

/** Whether a row is wanted. */
typedef bool rows_filter(const struct hes_trace_row *r, void *ctx);

/** Read the rest of @t. @wanted NULL: every row. On failure @out is empty. */
int rows_read(struct hes_trace *t, rows_filter *wanted, void *ctx, struct rows *out,
	      struct hes_err *err);
void rows_free(struct rows *r);
/** Say that a trace has no row, and why its rows were skipped. @return @code */
int rows_none(const struct hes_trace *t, const char *what, int code, struct hes_err *err);

#endif
