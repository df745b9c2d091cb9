/*
 * jobs_load.c - load jobs, and find a command for each; see jobs_load.h.
 */
#include "app/jobs_load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/texts.h"

#define MAX_LIST         10000
#define MAX_LIST_BYTES   ((uint64_t)64 << 20) /* patterns of 6 KiB */
#define MAX_MEMORY_SHOWN 10
#define NAMES_MAX        600 /* bytes of names of columns; what does not fit is cut */

/* "deadline" (did you mean deadline_s?) */
static void add_unread(char names[NAMES_MAX], const char *name, size_t length)
{
	static const char *const fields[] = { "id",         "arrival_s",  "workload",
					      "batch_size", "iterations", "memory_mib",
					      "deadline_s", "weight",     "keep",
					      "user",       "command",    "progress" };
	char text[64];
	const char *near;

	snprintf(text, sizeof(text), "%.*s", (int)length, name);
	near = hes_text_nearest(text, fields, sizeof(fields) / sizeof(fields[0]));
	hes_text_add(names, NAMES_MAX, ", ", "\"%.*s\"%s%s%s", (int)length, name,
		     near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

static void warn_of_unread(const struct app *app, const struct hes_jobs *jobs, bool due)
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

int app_jobs_load(const struct app *app, const char *pattern, const char *path, bool due,
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

void app_jobs_warn_memory(const struct app *app, const struct hes_jobs *jobs)
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

/* --- commands --- */

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
static int check_unused(const struct app *app, const char *pattern, struct hes_err *err)
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

static int take_pattern(const struct app *app, struct hes_jobs *jobs, const char *pattern,
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

int app_jobs_fill_commands(const struct app *app, struct hes_jobs *jobs, const char *list,
			   const char *pattern, struct hes_err *err)
{
	int rc = list ? take_list(list, jobs, err) : 0;

	return rc ? rc : take_pattern(app, jobs, pattern, err);
}

static const char *const names[] = { "job", "workload", "batch", "iterations", "memory" };
#define N_NAMES (sizeof(names) / sizeof(names[0]))
#define LETTERS "abcdefghijklmnopqrstuvwxyz_"
#define PLAIN   LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-./:=+,@%"

void app_put_quoted(FILE *f, const char *word)
{
	fputc('\'', f);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", f);
		else
			fputc(*word, f);
	}
	fputc('\'', f);
}

static void put_text(FILE *f, const char *text)
{
	if (*text && !text[strspn(text, PLAIN)])
		fputs(text, f);
	else
		app_put_quoted(f, text);
}

static void put_value(FILE *f, size_t name, const struct hes_job *job)
{
	char workload[HES_NAME_MAX];

	snprintf(workload, sizeof(workload), "%.*s", hes_job_workload_given(job), job->workload);
	switch (name) {
	case 0:
		put_text(f, job->id);
		break;
	case 1:
		put_text(f, workload);
		break;
	case 2:
		fprintf(f, "%" PRIu32, job->batch_size);
		break;
	case 3:
		fprintf(f, "%" PRIu64, job->iterations);
		break;
	default:
		fprintf(f, "%" PRIu32, hes_job_memory_mib(job));
	}
}

/* The word in braces at @at. @return its length; 0: none, the brace is the shell's */
static size_t word_at(const char *pattern, const char *at)
{
	size_t len = strspn(at + 1, LETTERS);

	return len && at[1 + len] == '}' && (at == pattern || at[-1] != '$') ? len : 0;
}

static int put(FILE *f, const char *pattern, const struct hes_job *job, struct hes_err *err)
{
	for (const char *at = pattern; *at; at++) {
		size_t len = *at == '{' ? word_at(pattern, at) : 0, name = 0;

		if (at[0] == '{' && at[1] == '{') {
			fputc(*at++, f);
			continue;
		}
		if (!len) {
			fputc(*at, f);
			continue;
		}
		while (name < N_NAMES &&
		       (strlen(names[name]) != len || strncmp(names[name], at + 1, len) != 0))
			name++;
		if (name == N_NAMES)
			return hes_fail(err, -EINVAL,
					"no value {%.*s} for a command; there are {job}, "
					"{workload}, {batch}, {iterations}, "
					"{memory}, and {{ stands for one brace",
					(int)len, at + 1);
		if (name == 3 && job->whole_run)
			return hes_fail(err, -EINVAL,
					"{iterations} for a command: iterations of job %s are not "
					"given; give them, or leave {iterations} out",
					job->id);
		if (name + 1 == N_NAMES && !hes_job_memory_mib(job))
			return hes_fail(err, -EINVAL,
					"{memory} for a command: memory_mib of job %s is not "
					"given, and no profile of %s/%" PRIu32 " has it",
					job->id, job->workload, job->batch_size);
		put_value(f, name, job);
		at += len + 1;
	}
	return 0;
}

int app_command_words(const char *pattern, const struct hes_job *job, char **out,
		      struct hes_err *err)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int rc = f ? put(f, pattern, job, err) : -ENOMEM;

	if (f && fclose(f) && !rc)
		rc = -ENOMEM;
	if (rc == -ENOMEM)
		hes_fail(err, rc, "job %s: no memory for its command", job->id);
	if (rc)
		free(text);
	else
		*out = text;
	return rc;
}
