/*
 * trace_choices.h - what jobs that are drawn from a trace may run: workloads and batch sizes, with
 * memory and iteration time on a reference GPU.
 */
#ifndef HES_APP_TRACE_CHOICES_H
#define HES_APP_TRACE_CHOICES_H

#include <stddef.h>

#include "app/app.h"
#include "heshare/trace.h"

struct trace_choices {
	struct hes_choice *v;
	size_t n;
};

struct trace_choices_from {
	const struct app *app;
	const char *profiles;  /* file; NULL: the model's workloads of the testbed */
	const char *reference; /* GPU type */
	const char *catalogue; /* file with more GPU types; NULL: none */
	const char *workloads; /* "A,B": only these; NULL: all */
	uint32_t max_memory_mib;
};

/** @return 0; -ENOENT unknown GPU type or workload; -EINVAL a named workload never fits; what
 * loading gave */
int trace_choices_load(const struct trace_choices_from *from, struct trace_choices *out,
		       struct hes_err *err);
void trace_choices_free(struct trace_choices *c);

#endif
