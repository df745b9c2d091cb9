/*
 * philly.c - read Philly's log as its owner publishes it: a JSON list of jobs with their attempts.
 *
 * As in the owner's analysis, a job runs from the start of its first attempt to the end of its last
 * one, on the GPUs of the first (Jeon et al., ATC 2019).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "trace/cells.h"
#include "trace/source.h"

#define MAX_BYTES ((size_t)1 << 30)

struct philly {
	struct hes_trace base;
	char *path;
	json_t *jobs;
	size_t at;
};

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

static size_t gpus_of(const json_t *attempt)
{
	size_t n = 0, i;
	json_t *node;

	json_array_foreach(json_object_get(attempt, "detail"), i, node) n +=
		json_array_size(json_object_get(node, "gpus"));
	return n;
}

/* A time of job @p->at. */
static int read_time(struct philly *p, const json_t *o, const char *key, int64_t *out_us,
		     struct hes_err *err)
{
	int rc = cell_moment(text_of(o, key), false, 1e6, p->base.local_times, out_us, err);

	p->base.unzoned |= rc == 1;
	return rc < 0 ? hes_fail_in(err, "%s: job %zu: %s", p->path, p->at, key) : 0;
}

/* @return 1; 0 the job is skipped; negative errno */
static int read_job(struct philly *p, const json_t *job, struct hes_trace_row *out,
		    struct hes_err *err)
{
	const json_t *attempts = json_object_get(job, "attempts");
	const size_t n = json_array_size(attempts);
	const json_t *first = json_array_get(attempts, 0);
	const json_t *last = n ? json_array_get(attempts, n - 1) : NULL;
	const size_t gpus = gpus_of(first);
	int64_t start, end;
	int rc;

	if (cell_is_missing(text_of(first, "start_time")) ||
	    cell_is_missing(text_of(last, "end_time")))
		return trace_skip(&p->base, HES_SKIP_RUNTIME);
	if (gpus == 0)
		return trace_skip(&p->base, HES_SKIP_NO_GPU);
	if (cell_is_missing(text_of(job, "submitted_time")))
		return trace_skip(&p->base, HES_SKIP_ARRIVAL);
	rc = read_time(p, first, "start_time", &start, err);
	if (!rc)
		rc = read_time(p, last, "end_time", &end, err);
	if (!rc)
		rc = read_time(p, job, "submitted_time", &out->arrival_us, err);
	if (rc)
		return rc;
	if (end < start || (double)gpus > TRACE_MAX_GPUS)
		return hes_fail(err, -ERANGE, "%s: job %zu: %s", p->path, p->at,
				end < start ? "its last end_time is before its first start_time"
					    : "too many GPUs");
	out->runtime_us = end - start;
	out->gpu_milli = (uint32_t)gpus * 1000;
	if (hes_check_name("", text_of(job, "jobid"), HES_NAME_MAX - 1, NULL) == 0)
		strcpy(out->id, text_of(job, "jobid"));
	return end > start ? 1 : trace_skip(&p->base, HES_SKIP_RUNTIME);
}

static int philly_next(struct hes_trace *t, struct hes_trace_row *out, struct hes_err *err)
{
	struct philly *p = (struct philly *)t;
	int rc = 0;

	while (rc == 0 && p->at < json_array_size(p->jobs)) {
		struct hes_trace_row row = { 0 };

		rc = read_job(p, json_array_get(p->jobs, p->at++), &row, err);
		if (rc == 1)
			*out = row;
	}
	return rc;
}

static void philly_close(struct hes_trace *t)
{
	struct philly *p = (struct philly *)t;

	json_decref(p->jobs);
	free(p->path);
	free(p);
}

int philly_open(const char *path, struct hes_trace **out, struct hes_err *err)
{
	struct philly *p = calloc(1, sizeof(*p));
	int rc;

	if (!p || !(p->path = strdup(path))) {
		free(p);
		return hes_fail(err, -ENOMEM, "%s: out of memory", path);
	}
	rc = hes_json_load(path, MAX_BYTES, &p->jobs, err);
	if (!rc && !json_object_get(json_array_get(p->jobs, 0), "attempts"))
		rc = hes_fail(
			err, -ENOENT,
			"%s: JSON, but not Philly's log: a list of jobs with \"attempts\" and "
			"\"submitted_time\"; other logs are read as CSV with --columns",
			path);
	p->base = (struct hes_trace){
		.format = HES_TRACE_PHILLY,
		.name = p->path,
		.next = philly_next,
		.close = philly_close,
	};
	if (rc)
		philly_close(&p->base);
	else
		*out = &p->base;
	return rc;
}
