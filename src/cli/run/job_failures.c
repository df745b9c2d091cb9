/*
 * job_failures.c - why jobs of a run failed; see job_failures.h.
 */
#include "cli/run/job_failures.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/visible.h"
#include "app/run_view.h"
#include "heshare/run.h"

#define MOST_FAILURES 10 /* shown in text */

/* Where the files of a job are. */
static const char *folder_of(const struct hes_run_job *j, const char *folder, bool by_node,
			     char out[PATH_MAX])
{
	const char *slash = by_node ? strrchr(j->gpu, '/') : NULL;

	snprintf(out, PATH_MAX, "%s%s%.*s", folder, slash ? "/" : "",
		 slash ? (int)(slash - j->gpu) : 0, j->gpu);
	return out;
}

static bool was_started(const struct hes_run_job *j)
{
	return j->last_verdict != HES_VERDICT_OPEN && j->last_status != HES_RUN_NOT_STARTED;
}

static void put_end(FILE *f, const struct hes_run_job *j)
{
	const char *why = hes_run_why_no_command(j->last_status);

	if (!was_started(j))
		fputs("could not be started", f);
	else if (j->state == HES_RUN_JOB_EARLY)
		fprintf(f, "ended early, with status 0: %s", j->seen);
	else if (j->last_verdict == HES_VERDICT_TIMEOUT)
		fputs("timed out", f);
	else if (why)
		fprintf(f, "failed: %s (status %" PRId32 ")", why, j->last_status);
	else
		fprintf(f, "failed with status %" PRId32 "%s%s", j->last_status,
			j->seen[0] ? ": " : "", j->seen);
}

/* Whether it failed, or ended early. */
static bool did_not_work(const struct hes_run_job *j)
{
	return j->state == HES_RUN_JOB_FAILED || j->state == HES_RUN_JOB_EARLY;
}

static void failure_print(FILE *f, const struct hes_run_job *j, const char *folder)
{
	struct last_lines last;

	last_lines_read(folder, j->job, &last);
	fputs("\njob ", f);
	hes_visible_put(f, 0, j->job);
	fputc(' ', f);
	put_end(f, j);
	fputs(last.n ? "; the end of " : "; no output in ", f);
	hes_visible_put(f, 0, last.log ? last.log : folder);
	fputs(last.n ? ":\n" : "\n", f);
	for (size_t k = 0; k < last.n; k++)
		fprintf(f, "    %s\n", last.v[k]);
	last_lines_free(&last);
}

void job_failures_print(FILE *f, const struct hes_run_job *jobs, size_t n, const char *folder,
			bool by_node, const char *more)
{
	size_t shown = 0, failed = 0;
	char place[PATH_MAX];

	for (size_t i = 0; i < n; i++) {
		if (!did_not_work(&jobs[i]))
			continue;
		failed++;
		if (failed > MOST_FAILURES)
			continue;
		shown++;
		failure_print(f, &jobs[i], folder_of(&jobs[i], folder, by_node, place));
	}
	if (shown < failed)
		fprintf(f, "\n%zu more jobs failed or ended early; %s\n", failed - shown, more);
}

json_t *job_failure_json(const struct hes_run_job *j, const char *folder, bool by_node)
{
	char place[PATH_MAX];
	struct last_lines last;
	json_t *lines, *o;

	if (!did_not_work(j))
		return json_null();
	last_lines_read(folder_of(j, folder, by_node, place), j->job, &last);
	lines = json_array();
	for (size_t k = 0; k < last.n; k++)
		json_array_append_new(lines, json_string(last.v[k]));
	o = json_pack("{s:s, s:o, s:s?, s:s?, s:o}", "verdict", hes_verdict_names[j->last_verdict],
		      "status", was_started(j) ? json_integer(j->last_status) : json_null(), "seen",
		      j->seen[0] ? j->seen : NULL, "log", last.log, "last_lines", lines);
	last_lines_free(&last);
	return o;
}
