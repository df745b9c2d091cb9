/*
 * inputs.c - load jobs and a fleet; check a power cap; move arrivals to time 0; see inputs.h.
 */
#include "cli/inputs/inputs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/data.h"
#include "base/plural.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "cli/opt.h"
#include "heshare/policy.h"

#define MAX_MEMORY_SHOWN 10

int cli_fleet_load(const char *path, const struct hes_catalogue *c, struct hes_fleet *out,
		   struct hes_err *err)
{
	static const char built_in[] = "fleets/heshare.yaml";
	const char *text;
	size_t len;

	if (path)
		return hes_fleet_load(path, c, out, err);
	text = hes_data_find(built_in, &len);
	return hes_fleet_parse(built_in, text, len, c, out, err);
}

int cli_cap_check(double cap_w, const struct hes_fleet *f, struct hes_err *err)
{
	uint64_t idle_mw = 0;

	for (size_t g = 0; g < f->n; g++)
		idle_mw += f->gpus[g].type->idle_power_mw;
	if (cap_w <= 0 || cap_w * 1e3 >= (double)idle_mw)
		return 0;
	return hes_fail(err, -ERANGE,
			"--power-cap: %g W is below the %g W that the %zu GPU%s draw%s idle; give "
			"more, or 0 for no cap",
			cap_w, (double)idle_mw * 1e-3, f->n, hes_s(f->n), f->n == 1 ? "s" : "");
}

/* "deadline" (did you mean deadline_s?) */
static void put_unread(FILE *f, const char *name, size_t length)
{
	static const char *const fields[] = { "id",         "arrival_s",  "workload",
					      "batch_size", "iterations", "memory_mib",
					      "deadline_s", "weight",     "user",
					      "command",    "progress" };
	char text[64];
	const char *near;

	snprintf(text, sizeof(text), "%.*s", (int)length, name);
	near = opt_nearest(text, fields, sizeof(fields) / sizeof(fields[0]));
	fputs("\"", f);
	hes_visible_put_part(f, name, length);
	fprintf(f, "\"%s%s%s", near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

static void warn_of_unread(const char *command, const struct hes_jobs *jobs, bool due)
{
	bool weights = false;

	for (size_t i = 0; i < jobs->n; i++)
		weights |= jobs->v[i].weight != 1;
	if (jobs->unread) {
		fprintf(stderr, "heshare %s: %s: nothing reads ", command, jobs->file);
		for (const char *at = jobs->unread; *at; at += strcspn(at, "\n") + 1) {
			fputs(at == jobs->unread ? "column " : ", ", stderr);
			put_unread(stderr, at, strcspn(at, "\n"));
		}
		fputs("\n", stderr);
	}
	if (weights)
		fprintf(stderr, "heshare %s: %s: no policy uses weight\n", command, jobs->file);
	if (!due && hes_jobs_due(jobs))
		fprintf(stderr,
			"heshare %s: %s: this policy does not plan by deadline_s; joint does\n",
			command, jobs->file);
}

int cli_jobs_load(const char *command, const char *pattern, const char *path, bool due,
		  struct hes_jobs *out, struct hes_err *err)
{
	int rc = hes_jobs_load_for(pattern, path, out, err);

	if (!rc)
		warn_of_unread(command, out, due);
	return rc;
}

void cli_arrive_at_once(struct hes_jobs *jobs)
{
	for (size_t i = 0; i < jobs->n; i++) {
		jobs->v[i].deadline_us -= jobs->v[i].has_deadline ? jobs->v[i].arrival_us : 0;
		jobs->v[i].arrival_us = 0;
	}
}

void cli_jobs_warn_memory(const char *command, const struct hes_jobs *jobs)
{
	size_t n = 0;

	for (size_t i = 0; i < jobs->n; i++) {
		const struct hes_job *j = &jobs->v[i];

		if (!j->memory_mib || j->memory_mib >= j->measured_mib || n++ >= MAX_MEMORY_SHOWN)
			continue;
		fprintf(stderr,
			"heshare %s: job %s: memory_mib is %" PRIu32
			", and %s at batch size %" PRIu32 " used %" PRIu32
			" MiB when it was profiled; write %" PRIu32
			", or leave memory_mib empty to plan with what was measured\n",
			command, j->id, j->memory_mib, j->workload, j->batch_size, j->measured_mib,
			j->measured_mib + j->measured_mib / 10);
	}
	if (n > MAX_MEMORY_SHOWN)
		fprintf(stderr,
			"heshare %s: %zu more jobs have less memory_mib than was measured\n",
			command, n - MAX_MEMORY_SHOWN);
}

void cli_plan_progress(void *policy, size_t done, size_t of)
{
	char what[2 * HES_NAME_MAX];

	snprintf(what, sizeof(what), "planning by %s, cell",
		 ((const struct hes_policy *)policy)->name);
	cli_progress(what, done, of);
}
