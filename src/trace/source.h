/*
 * source.h - what a source of rows implements; private to src/trace.
 */
#ifndef HES_TRACE_SOURCE_H
#define HES_TRACE_SOURCE_H

#include "base/csv.h"
#include "heshare/trace.h"

#define TRACE_MAX_GPUS 1e5

/** First member of every source. */
struct hes_trace {
	const char *format;
	const char *name; /* owned by the source */
	uint64_t skipped[HES_TRACE_SKIPS];
	bool no_arrivals; /* every row has 0 */
	bool no_runtimes; /* rows may have iterations alone */
	bool unzoned;     /* a date without a zone was read */
	bool local_times; /* dates without a zone are in the zone of the process */
	int (*next)(struct hes_trace *t, struct hes_trace_row *out, struct hes_err *err);
	void (*close)(struct hes_trace *t); /* Required; frees @t too */
};

/** Count a row that is skipped. @return 0 */
int trace_skip(struct hes_trace *t, enum hes_trace_skip why);

/** Takes @c, also on failure. @param items  of a layout; NULL-terminated */
int log_open(struct hes_csv *c, const char *format, const char *const *items,
	     struct hes_trace **out, struct hes_err *err);
/** Whether @c has all columns of a layout. */
bool log_has(const struct hes_csv *c, const char *const *items);

/** Append to @text an example of --columns, from the names and the next row of @c, which it reads.
 */
void suggest_columns(struct hes_csv *c, char *text, size_t size);

#endif
