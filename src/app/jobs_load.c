/*
 * jobs_load.c - load jobs and say what nothing reads in their file; see jobs_load.h.
 */
#include "app/jobs_load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/texts.h"

#define MAX_MEMORY_SHOWN 10
#define NAMES_MAX        600 /* bytes of names of columns; what does not fit is cut */

/* "deadline" (did you mean deadline_s?) */
static void add_unread(char names[NAMES_MAX], const char *name, size_t length)
{
	static const char *const fields[] = { "id",         "arrival_s",  "workload",
					      "batch_size", "iterations", "memory_mib",
					      "deadline_s", "weight",     "user",
					      "command",    "progress" };
	char text[64];
	const char *near;

	snprintf(text, sizeof(text), "%.*s", (int)length, name);
	near = hes_text_nearest(text, fields, sizeof(fields) / sizeof(fields[0]));
	hes_text_add(names, NAMES_MAX, ", ", "\"%.*s\"%s%s%s", (int)length, name,
		     near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

static void warn_of_unread(const struct hes_app *app, const struct hes_jobs *jobs, bool due)
{
	char names[NAMES_MAX] = "";
	bool weights = false;

	for (size_t i = 0; i < jobs->n; i++)
		weights |= jobs->v[i].weight != 1;
	for (const char *at = jobs->unread; at && *at; at += strcspn(at, "\n") + 1)
		add_unread(names, at, strcspn(at, "\n"));
	if (*names)
		app_say(app, "%s: nothing reads column %s", jobs->file, names);
	if (weights)
		app_say(app, "%s: no policy uses weight", jobs->file);
	if (!due && hes_jobs_due(jobs))
		app_say(app, "%s: this policy does not plan by deadline_s; joint does", jobs->file);
}

int app_jobs_load(const struct hes_app *app, const char *pattern, const char *path, bool due,
		  struct hes_jobs *out, struct hes_err *err)
{
	int rc = hes_jobs_load_for(pattern, path, out, err);

	if (!rc)
		warn_of_unread(app, out, due);
	return rc;
}

bool app_jobs_arrive_at_once(struct hes_jobs *jobs)
{
	const int64_t first_us = jobs->n ? jobs->v[0].arrival_us : 0;
	bool differed = false;

	for (size_t i = 0; i < jobs->n; i++) {
		differed |= jobs->v[i].arrival_us != first_us;
		jobs->v[i].deadline_us -= jobs->v[i].has_deadline ? jobs->v[i].arrival_us : 0;
		jobs->v[i].arrival_us = 0;
	}
	return differed;
}

void app_jobs_warn_memory(const struct hes_app *app, const struct hes_jobs *jobs)
{
	size_t n = 0;

	for (size_t i = 0; i < jobs->n; i++) {
		const struct hes_job *j = &jobs->v[i];

		if (!j->memory_mib || j->memory_mib >= j->measured_mib || n++ >= MAX_MEMORY_SHOWN)
			continue;
		app_say(app,
			"job %s: memory_mib is %" PRIu32 ", and %s at batch size %" PRIu32
			" used %" PRIu32 " MiB when it was profiled; write %" PRIu32
			", or leave memory_mib empty to plan with what was measured",
			j->id, j->memory_mib, j->workload, j->batch_size, j->measured_mib,
			j->measured_mib + j->measured_mib / 10);
	}
	if (n > MAX_MEMORY_SHOWN)
		app_say(app, "%zu more jobs have less memory_mib than was measured",
			n - MAX_MEMORY_SHOWN);
}
