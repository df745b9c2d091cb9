/*
 * trace_draw.h - open a cluster's log or a generator, and draw jobs from it; what they may run:
 * workloads and batch sizes, with memory and iteration time on a reference GPU.
 */
#ifndef HES_APP_TRACE_DRAW_H
#define HES_APP_TRACE_DRAW_H

#include <stddef.h>

#include "app/app.h"
#include "heshare/job.h"
#include "heshare/trace.h"

/* What applies unless a user says otherwise, besides hes_trace_options_defaults(). */
#define TRACE_ROWS           50000
#define TRACE_REFERENCE      "V100-SXM2-32"
#define TRACE_MAX_MEMORY_MIB 15360 /* fits a T4 */

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

struct trace_source {
	const char *path;    /* a log, a generator's profile, or HES_TRACE_GENERATOR */
	const char *format;  /* of the log; NULL: by its columns */
	const char *columns; /* of a log of no known format; NULL: none */
	uint64_t rows, seed; /* of a generator */
	bool local_time;     /* dates without a zone are of the process's zone, not UTC */
};

/** Whether rows are made up, so that formats, columns and zones have no meaning. */
bool trace_is_generator(const char *path);
/** @return 0 or what opening gave; hes_trace_close() it */
int trace_open(const struct trace_source *s, struct hes_trace **out, struct hes_err *err);

/** Draw jobs whose workloads come from @from. @param out, account  written on success only */
int trace_draw(struct hes_trace *t, const struct trace_choices_from *from,
	       const struct hes_trace_options *d, struct hes_jobs *out,
	       struct hes_trace_account *account, struct hes_err *err);
/** The same with the defaults above: at most 60 jobs of @path. */
int trace_draw_jobs(const struct app *app, const char *path, uint64_t seed, struct hes_jobs *out,
		    struct hes_err *err);

#endif
