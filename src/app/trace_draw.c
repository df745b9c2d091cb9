/*
 * trace_draw.c - jobs of a trace; see trace_draw.h.
 */
#include "app/trace_draw.h"

#include <string.h>

static bool is_profile(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

bool trace_is_generator(const char *path)
{
	return strcmp(path, HES_TRACE_GENERATOR) == 0 || is_profile(path);
}

int trace_open(const struct trace_source *s, struct hes_trace **out, struct hes_err *err)
{
	const struct hes_trace_format *f = s->format ? hes_trace_format_find(s->format, err) : NULL;
	int rc;

	if (trace_is_generator(s->path))
		return hes_trace_generate(is_profile(s->path) ? s->path : NULL, s->seed, s->rows,
					  out, err);
	rc = s->columns ? hes_trace_open_columns(s->path, s->columns, out, err)
			: hes_trace_open(s->path, f, out, err);
	if (!rc && s->local_time)
		hes_trace_use_local_time(*out);
	return rc;
}

int trace_draw(struct hes_trace *t, const struct trace_choices_from *from,
	       const struct hes_trace_options *d, struct hes_jobs *out,
	       struct hes_trace_account *account, struct hes_err *err)
{
	struct trace_choices choices;
	int rc = trace_choices_load(from, &choices, err);

	if (rc)
		return rc;
	rc = hes_trace_jobs(t, choices.v, choices.n, d, out, account, err);
	trace_choices_free(&choices);
	return rc;
}

int trace_draw_jobs(const struct app *app, const char *path, uint64_t seed, struct hes_jobs *out,
		    struct hes_err *err)
{
	const struct trace_choices_from from = { .app = app,
						 .reference = TRACE_REFERENCE,
						 .max_memory_mib = TRACE_MAX_MEMORY_MIB };
	struct hes_trace_account account;
	struct hes_trace_options d;
	struct hes_trace *t;
	int rc = trace_open(
		&(struct trace_source){ .path = path, .rows = TRACE_ROWS, .seed = seed }, &t, err);

	if (rc)
		return rc;
	hes_trace_options_defaults(&d);
	d.seed = seed;
	d.fewer = true;
	rc = trace_draw(t, &from, &d, out, &account, err);
	hes_trace_close(t);
	return rc;
}
