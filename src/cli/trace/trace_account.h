/*
 * trace_account.h - print what `heshare trace` kept of a trace, left out, clamped and invented.
 */
#ifndef HES_CLI_TRACE_ACCOUNT_H
#define HES_CLI_TRACE_ACCOUNT_H

#include <jansson.h>
#include <stdio.h>

#include "heshare/trace.h"

struct trace_result {
	const struct hes_trace *trace;
	const struct hes_trace_options *options;
	const struct hes_trace_account *account;
	const char *reference; /* GPU type */
	bool clamped;          /* false: run times are the trace's */
};

void trace_account_print(const struct trace_result *t, FILE *f);
/** Say so if dates without a zone were read as UTC. */
void trace_note_zone(const struct hes_trace *t, FILE *f);
/** Rows skipped for any reason. */
uint64_t trace_skipped(const uint64_t *skipped);
/** ... and for each: a new object. */
json_t *trace_skipped_json(const uint64_t *skipped);
/** @return a new document */
json_t *trace_account_json(const struct trace_result *t);

#endif
