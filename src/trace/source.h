/*
 * source.h - what a source of rows implements; private to src/trace.
 */
#ifndef HES_TRACE_SOURCE_H
#define HES_TRACE_SOURCE_H

#include "heshare/trace.h"

/** First member of every source. */
struct hes_trace {
	const char *format;
	const char *name; /* owned by the source */
	uint64_t skipped;
	bool no_arrivals; /* every row has 0 */
	int (*next)(struct hes_trace *t, struct hes_trace_row *out, struct hes_err *err);
	void (*close)(struct hes_trace *t); /* Required; frees @t too */
};

#endif
