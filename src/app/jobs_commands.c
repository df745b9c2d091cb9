/*
 * jobs_commands.c - find the command of each job of `heshare run`; see jobs_commands.h.
 */
#include "app/jobs_commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "heshare/run.h"

#define MAX_LIST       10000
#define MAX_LIST_BYTES ((uint64_t)64 << 20) /* patterns of 6 KiB */

/* A workload's pattern. */
struct pattern {
	char *workload, *command;
};

struct patterns {
	struct pattern v[MAX_LIST];
	size_t n;
};

static void release(struct patterns *p)
{
	for (size_t i = 0; p && i < p->n; i++) {
		free(p->v[i].workload);
		free(p->v[i].command);
	}
	free(p);
}

static int read_rows(struct hes_csv *c, struct patterns *p, struct hes_err *err)
{
	int workload = hes_csv_column(c, "workload", err),
	    command = workload < 0 ? workload : hes_csv_column(c, "command", err), rc;

	if (workload < 0 || command < 0)
		return workload < 0 ? workload : command;
	while ((rc = hes_csv_next(c, err)) > 0) {
		if (p->n == MAX_LIST)
			return hes_csv_fail(c, err, -E2BIG, "more than %d workloads", MAX_LIST);
		if (!*hes_csv_text(c, workload) || !*hes_csv_text(c, command))
			return hes_csv_fail(c, err, -EINVAL,
					    "a workload and its command are needed");
		p->v[p->n] = (struct pattern){ strdup(hes_csv_text(c, workload)),
					       strdup(hes_csv_text(c, command)) };
		p->n++;
		if (!p->v[p->n - 1].workload || !p->v[p->n - 1].command)
			return hes_csv_fail(c, err, -ENOMEM, "out of memory");
	}
	return rc;
}

static int read_list(const char *path, struct patterns **out, struct hes_err *err)
{
	struct patterns *p = calloc(1, sizeof(*p));
	struct hes_csv *c = NULL;
	int rc = p ? 0 : hes_fail(err, -ENOMEM, "%s: out of memory", path);

	if (!rc)
		rc = hes_csv_open(path, &c, err);
	if (!rc) {
		hes_csv_bound(c, MAX_LIST_BYTES);
		rc = read_rows(c, p, err);
		hes_csv_close(c);
	}
	if (rc)
		release(p);
	else
		*out = p;
	return rc;
}

static const char *pattern_of(const struct patterns *p, const struct hes_job *job,
			      const char *other)
{
	const size_t n = (size_t)hes_job_workload_given(job);

	for (size_t i = 0; p && i < p->n; i++)
		if (strlen(p->v[i].workload) == n &&
		    memcmp(p->v[i].workload, job->workload, n) == 0)
			return p->v[i].command;
	return other;
}

static int command_of(const struct hes_job *job, const struct patterns *p, const char *other,
		      char **out, struct hes_err *err)
{
	const char *pattern = pattern_of(p, job, other);

	if (job->command) {
		*out = strdup(job->command);
		return *out ? 0 : hes_fail(err, -ENOMEM, "job %s: out of memory", job->id);
	}
	if (!pattern)
		return hes_fail(err, -ENOENT,
				"job %s has no command; give each job one in a column command, or "
				"one for all: -- ./job.sh {workload} {batch} {iterations}; "
				"--commands FILE has one for each workload",
				job->id);
	return hes_run_words(pattern, job, out, err);
}

/* A pattern that no job uses is said so, and must be right all the same. */
static int check_unused(const struct hes_app *app, const struct hes_jobs *jobs,
			const struct patterns *p, const char *pattern, struct hes_err *err)
{
	const struct hes_job any = {
		.id = "1", .workload = "w", .batch_size = 1, .iterations = 1, .memory_mib = 1
	};
	char *words;
	int rc;

	for (size_t i = 0; i < jobs->n; i++)
		if (!jobs->v[i].command && pattern_of(p, &jobs->v[i], pattern) == pattern)
			return 0;
	rc = hes_run_words(pattern, &any, &words, err);
	if (rc)
		return rc;
	free(words);
	app_say(app, "no job runs the command for all, because each has one of its "
		     "own");
	return 0;
}

int run_commands_load(const struct hes_app *app, const struct hes_jobs *jobs, const char *list,
		      const char *pattern, char ***out, struct hes_err *err)
{
	char **commands = calloc(jobs->n + 1, sizeof(*commands));
	struct patterns *p = NULL;
	int rc = commands ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu jobs", jobs->n);

	if (!rc && list)
		rc = read_list(list, &p, err);
	if (!rc && pattern)
		rc = check_unused(app, jobs, p, pattern, err);
	for (size_t i = 0; i < jobs->n && !rc; i++)
		rc = command_of(&jobs->v[i], p, pattern, &commands[i], err);
	release(p);
	if (rc)
		run_commands_free(commands, jobs->n);
	else
		*out = commands;
	return rc;
}

void run_commands_free(char **commands, size_t n)
{
	for (size_t i = 0; commands && i < n; i++)
		free(commands[i]);
	free(commands);
}
