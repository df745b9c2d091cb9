/*
 * jobs_commands.c - find the command of each job; see jobs_commands.h.
 */
#include "app/jobs_commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "heshare/run.h"
#include "app/command_words.h"

#define MAX_LIST       10000
#define MAX_LIST_BYTES ((uint64_t)64 << 20) /* patterns of 6 KiB */

static bool is_of_workload(const struct hes_job *job, const char *workload)
{
	const size_t n = (size_t)hes_job_workload_given(job);

	return strlen(workload) == n && memcmp(workload, job->workload, n) == 0;
}

/* A row of the list is for jobs of its workload that no row before it was for. */
static int take_row(struct hes_jobs *jobs, const char *workload, const char *pattern,
		    struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < jobs->n && !rc; i++)
		if (!jobs->v[i].command && is_of_workload(&jobs->v[i], workload))
			rc = app_command_words(pattern, &jobs->v[i], &jobs->v[i].command, err);
	return rc;
}

static int take_rows(struct hes_csv *c, struct hes_jobs *jobs, struct hes_err *err)
{
	const int workload = hes_csv_column(c, "workload", err),
		  command = workload < 0 ? workload : hes_csv_column(c, "command", err);
	int rc = command < 0 ? command : 0;

	for (size_t n = 0; !rc && (rc = hes_csv_next(c, err)) > 0; n++) {
		if (n == MAX_LIST)
			return hes_csv_fail(c, err, -E2BIG, "more than %d workloads", MAX_LIST);
		if (!*hes_csv_text(c, workload) || !*hes_csv_text(c, command))
			return hes_csv_fail(c, err, -EINVAL,
					    "a workload and its command are needed");
		rc = take_row(jobs, hes_csv_text(c, workload), hes_csv_text(c, command), err);
	}
	return rc;
}

static int take_list(const char *path, struct hes_jobs *jobs, struct hes_err *err)
{
	struct hes_csv *c = NULL;
	int rc = hes_csv_open(path, &c, err);

	if (rc)
		return rc;
	hes_csv_bound(c, MAX_LIST_BYTES);
	rc = take_rows(c, jobs, err);
	hes_csv_close(c);
	return rc;
}

/* A pattern that no job uses is said so, and must be right all the same. */
static int check_unused(const struct hes_app *app, const char *pattern, struct hes_err *err)
{
	const struct hes_job any = {
		.id = "1", .workload = "w", .batch_size = 1, .iterations = 1, .memory_mib = 1
	};
	char *words;
	int rc = app_command_words(pattern, &any, &words, err);

	if (rc)
		return rc;
	free(words);
	app_say(app, "no job runs the command for all, because each has one of its own");
	return 0;
}

static int take_pattern(const struct hes_app *app, struct hes_jobs *jobs, const char *pattern,
			struct hes_err *err)
{
	bool used = false;
	int rc = 0;

	for (size_t i = 0; i < jobs->n && !rc; i++) {
		struct hes_job *job = &jobs->v[i];

		if (job->command)
			continue;
		used = true;
		rc = pattern ? app_command_words(pattern, job, &job->command, err)
			     : hes_fail(err, -ENOENT,
					"job %s has no command; give each job one in a column "
					"command, or one for all: -- ./job.sh {workload} {batch} "
					"{iterations}; --commands FILE has one for each workload",
					job->id);
	}
	return rc || used || !pattern ? rc : check_unused(app, pattern, err);
}

int app_jobs_fill_commands(const struct hes_app *app, struct hes_jobs *jobs, const char *list,
			   const char *pattern, struct hes_err *err)
{
	int rc = list ? take_list(list, jobs, err) : 0;

	return rc ? rc : take_pattern(app, jobs, pattern, err);
}
