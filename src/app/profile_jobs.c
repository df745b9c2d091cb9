/*
 * profile_jobs.c - the jobs that a profile runs, with their commands and co-runners.
 *
 * A command is one line for the shell with workload and batch size filled in. The store keeps it,
 * so --co-runners needs only a name the next time.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"
#include "app/jobs_load.h"
#include "app/profile.h"
#include "heshare/job.h"

#define MAX_BATCHES 32
#define MAX_SETS    64
#define ENDLESS     UINT64_C(1000000000) /* iterations */

static int jobs_no_memory(struct hes_err *err)
{
	return hes_fail(err, -ENOMEM, "out of memory");
}

static bool is_plain(const char *arg)
{
	if (!*arg)
		return false;
	for (; *arg; arg++)
		if (!isalnum((unsigned char)*arg) && !strchr("_-./=:,@%+{}", *arg))
			return false;
	return true;
}

/* @return 0; -E2BIG the command has filled its room */
static int command_close(FILE *f, const char *command, const char *whose, struct hes_err *err)
{
	fclose(f);
	return strlen(command) + 1 < HES_POINT_COMMAND
		       ? 0
		       : hes_fail(err, -E2BIG,
				  "%sthe command has more than %d bytes; put it into a script",
				  whose, HES_POINT_COMMAND - 2);
}

int profile_command_join(int n, char *const *args, char out[HES_POINT_COMMAND], struct hes_err *err)
{
	FILE *f = fmemopen(out, HES_POINT_COMMAND, "w");

	if (!f)
		return jobs_no_memory(err);
	for (int i = 0; i < n; i++) {
		fputs(i ? " " : n > 1 ? "exec " : "", f);
		if (n == 1 || is_plain(args[i]))
			fputs(args[i], f);
		else
			app_put_quoted(f, args[i]);
	}
	return command_close(f, out, "", err);
}

/* {workload}, {batch} and {iterations}: more than are made before the job is ended, unless their
 * number is known */
static int command_fill_in(const char *command, const char *workload, uint32_t batch_size,
			   uint64_t iterations, char out[HES_POINT_COMMAND], struct hes_err *err)
{
	FILE *f = fmemopen(out, HES_POINT_COMMAND, "w");
	char whose[HES_NAME_MAX + 2];
	int rc;

	if (!f)
		return jobs_no_memory(err);
	while (*command) {
		if (strncmp(command, "{workload}", 10) == 0) {
			fputs(workload, f);
			command += 10;
		} else if (strncmp(command, "{batch}", 7) == 0) {
			fprintf(f, "%" PRIu32, batch_size);
			command += 7;
		} else if (strncmp(command, "{iterations}", 12) == 0) {
			fprintf(f, "%" PRIu64, iterations ? iterations : ENDLESS);
			command += 12;
		} else {
			fputc(*command++, f);
		}
	}
	snprintf(whose, sizeof(whose), "%.47s: ", workload);
	rc = command_close(f, out, whose, err);
	return rc ? rc : hes_check_name("the command", out, HES_POINT_COMMAND - 1, err);
}

static const struct hes_profiled *jobs_find(const struct profile_jobs *j, const char *workload,
					    uint32_t batch_size)
{
	for (size_t i = 0; i < j->n; i++)
		if (j->v[i].batch_size == batch_size && strcmp(j->v[i].workload, workload) == 0)
			return &j->v[i];
	return NULL;
}

static int jobs_add(struct profile_jobs *j, const char *workload, uint32_t batch_size,
		    const char *command, uint64_t iterations, uint32_t memory_mib,
		    struct hes_err *err)
{
	struct hes_profiled p = { .batch_size = batch_size,
				  .iterations = iterations,
				  .memory_mib = memory_mib },
			    *v;
	int rc = hes_check_name("the workload's name", workload, HES_NAME_MAX - 1, err);

	if (!rc && strchr(workload, ','))
		rc = hes_fail(err, -EINVAL, "the workload's name: \"%s\" has a comma", workload);
	if (!rc)
		rc = command_fill_in(command, workload, batch_size, iterations, p.command, err);
	if (!rc && j->n == HES_PROFILER_JOBS)
		rc = hes_fail(err, -E2BIG, "more than %d jobs to profile", HES_PROFILER_JOBS);
	if (rc)
		return rc;
	v = realloc(j->v, (j->n + 1) * sizeof(*v));
	if (!v)
		return jobs_no_memory(err);
	strcpy(p.workload, workload);
	j->v = v;
	v[j->n++] = p;
	return 0;
}

/* Every workload and batch size of a file of jobs, once; its memory is what the largest needs. */
static int jobs_add_file(const struct profile_request *q, const char *template,
			 struct profile_jobs *j, struct hes_err *err)
{
	struct hes_jobs jobs;
	int rc = app_jobs_load(q->app, *template ? template : NULL, q->jobs, true, &jobs, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < jobs.n && !rc; i++) {
		struct hes_job *from = &jobs.v[i];
		const char *command = *template ? template : from->command;

		hes_job_name_iterations(from, template);
		if (jobs_find(j, from->workload, from->batch_size))
			continue;
		if (!command)
			rc = hes_fail(err, -EINVAL,
				      "%s: %s has no command; give one for all after --, with "
				      "{workload} and {batch} in it",
				      q->jobs, from->id);
		else
			rc = jobs_add(j, from->workload, from->batch_size, command, q->iterations,
				      from->memory_mib, err);
		if (!rc && from->progress)
			strcpy(j->v[j->n - 1].progress, from->progress);
		if (!rc && *template && j->n > 1 &&
		    strcmp(j->v[0].command, j->v[j->n - 1].command) == 0)
			rc = hes_fail(err, -EINVAL,
				      "%s/%u and %s/%u would run the same command; put {workload} "
				      "and {batch} into it",
				      j->v[0].workload, j->v[0].batch_size, from->workload,
				      from->batch_size);
	}
	hes_jobs_free(&jobs);
	return rc;
}

/* The last point of a job, for its command and what counts in its output. */
static const struct hes_point *known_point(const struct hes_points *known, const char *workload,
					   uint32_t batch_size)
{
	const struct hes_point *found = NULL;

	for (size_t i = 0; i < known->n; i++)
		if (known->v[i].batch_size == batch_size &&
		    strcmp(known->v[i].workload, workload) == 0)
			found = &known->v[i];
	return found;
}

/* "NAME[/BATCH]": @text is cut at the slash. */
static int co_runner_name(char *text, uint32_t *batch_size, struct hes_err *err)
{
	char *slash = strrchr(text, '/');
	int rc = 0;

	*batch_size = 1;
	if (slash) {
		*slash = '\0';
		rc = hes_parse_u32("--co-runners: batch size", slash + 1, 1, HES_MAX_BATCH_SIZE,
				   batch_size, err);
	}
	if (!rc)
		rc = hes_check_name("--co-runners: the workload's name", text, HES_NAME_MAX - 1,
				    err);
	if (!rc && strpbrk(text, ",+="))
		rc = hes_fail(
			err, -EINVAL,
			"--co-runners: the workload's name: \"%s\" has a comma, + or =", text);
	return rc;
}

/* "NAME[/BATCH][=COMMAND]" @param known  NULL: only check. @return its index; -errno */
static long co_runner_job(char *text, const struct hes_points *known, struct profile_jobs *j,
			  struct hes_err *err)
{
	char *command = strchr(text, '=');
	const struct hes_profiled *there;
	const struct hes_point *point;
	uint32_t batch_size;
	int rc;

	if (command)
		*command++ = '\0';
	rc = co_runner_name(text, &batch_size, err);
	if (rc)
		return rc;
	there = jobs_find(j, text, batch_size);
	if (there && (!command || strcmp(command, there->command) == 0))
		return there - j->v;
	point = command || !known ? NULL : known_point(known, text, batch_size);
	if (!command && known && !point)
		return hes_fail(err, -ENOENT,
				"--co-runners: no command is known of %s at batch size %u: profile "
				"it first, or give --co-runners %s/%u=COMMAND",
				text, batch_size, text, batch_size);
	rc = jobs_add(j, text, batch_size,
		      command ? command
		      : point ? point->command
			      : "true",
		      0, 0, err);
	if (!rc && point)
		strcpy(j->v[j->n - 1].progress, point->progress);
	return rc ? rc : (long)j->n - 1;
}

static int jobs_add_set(char *text, const struct hes_points *known, struct profile_jobs *j,
			struct hes_err *err)
{
	struct hes_co_runners *set = &j->sets[j->n_sets];
	bool own_command = strchr(text, '=');
	char *at = text, *part;

	*set = (struct hes_co_runners){ 0 };
	/* A command may hold anything: it ends the list. */
	while ((part = own_command ? at : strsep(&at, "+"))) {
		long job;

		if (set->n == HES_MAX_SHARING - 1)
			return hes_fail(err, -E2BIG, "--co-runners: more than %d at a time",
					HES_MAX_SHARING - 1);
		job = co_runner_job(part, known, j, err);
		if (job < 0)
			return (int)job;
		set->job[set->n++] = (uint32_t)job;
		if (own_command)
			break;
	}
	j->n_sets++;
	return 0;
}

static int jobs_add_co_runners(const char *text, const struct hes_points *known,
			       struct profile_jobs *j, struct hes_err *err)
{
	char *copy = strdup(text), *at = copy, *part;
	int rc = 0;

	j->sets = calloc(MAX_SETS, sizeof(*j->sets));
	if (!copy || !j->sets)
		rc = jobs_no_memory(err);
	while (!rc && at && *at) {
		bool own_command =
			strchr(at, '=') && (!strchr(at, ',') || strchr(at, '=') < strchr(at, ','));

		if (j->n_sets == MAX_SETS)
			rc = hes_fail(err, -E2BIG, "--co-runners: more than %d", MAX_SETS);
		part = own_command ? at : strsep(&at, ",");
		if (!rc)
			rc = jobs_add_set(part, known, j, err);
		if (own_command)
			break;
	}
	free(copy);
	return rc;
}

int profile_co_runners_check(const char *text, struct hes_err *err)
{
	struct profile_jobs j = { 0 };
	int rc = jobs_add_co_runners(text, NULL, &j, err);

	profile_jobs_free(&j);
	return rc;
}

static int jobs_add_named(const struct profile_request *q, const char *name, const char *template,
			  struct profile_jobs *j, struct hes_err *err)
{
	uint32_t batches[MAX_BATCHES];
	int n = hes_ranges_parse("--batch", q->batch, 1, HES_MAX_BATCH_SIZE, batches, MAX_BATCHES,
				 err),
	    rc = n < 0 ? n : 0;

	if (!rc && strpbrk(name, "+="))
		rc = hes_fail(err, -EINVAL, "the workload's name: \"%s\" has + or =", name);
	for (int i = 0; i < n && !rc; i++)
		rc = jobs_add(j, name, batches[i], template, q->iterations, 0, err);
	return rc;
}

/* A name stands for one command and one unit of progress: points of two under one name would be
 * taken for one another. */
static int check_commands(const struct profile_jobs *j, const struct hes_points *known,
			  struct hes_err *err)
{
	for (size_t i = 0; i < j->n; i++) {
		const struct hes_profiled *job = &j->v[i];
		char old[HES_POINT_COMMAND], new[HES_POINT_COMMAND];
		const struct hes_point *p = known_point(known, job->workload, job->batch_size);

		if (p && strcmp(p->progress, job->progress) != 0)
			return hes_fail(
				err, -EEXIST,
				"%s at batch size %u is in the store already, with "
				"iterations counted by %s%s; count them so, give it another "
				"name, or forget the old one (heshare profiles forget)",
				job->workload, job->batch_size,
				p->progress[0] ? "--progress " : "heshare's own lines or runs",
				p->progress);
		if (!p)
			continue;
		hes_point_command(p->command, ENDLESS, old);
		hes_point_command(job->command, job->iterations ? job->iterations : ENDLESS, new);
		if (!hes_point_same_command(old, new))
			return hes_fail(err, -EEXIST,
					"%s at batch size %u is in the store already, as "
					"\"%.120s\"; this is \"%.120s\": "
					"give it another name, or forget the old one (heshare "
					"profiles forget)",
					job->workload, job->batch_size, p->command, job->command);
	}
	return 0;
}

int profile_jobs_choose(const struct profile_request *q, const struct hes_points *known,
			struct profile_jobs *out, struct hes_err *err)
{
	struct profile_jobs j = { 0 };
	char template[HES_POINT_COMMAND] = "";
	int skip = q->jobs ? 0 : 1, rc = 0;

	if (q->n_args > skip)
		rc = profile_command_join(q->n_args - skip, q->args + skip, template, err);
	if (!rc)
		rc = q->jobs ? jobs_add_file(q, template, &j, err)
			     : jobs_add_named(q, q->args[0], template, &j, err);
	j.own = j.n;
	if (!rc && q->co_runners)
		rc = jobs_add_co_runners(q->co_runners, known, &j, err);
	for (size_t i = 0; i < j.n && q->pattern; i++)
		if (!j.v[i].progress[0])
			snprintf(j.v[i].progress, sizeof(j.v[i].progress), "%s", q->pattern);
	if (!rc)
		rc = check_commands(&j, known, err);
	if (rc)
		profile_jobs_free(&j);
	else
		*out = j;
	return rc;
}

void profile_jobs_free(struct profile_jobs *j)
{
	free(j->v);
	free(j->sets);
	*j = (struct profile_jobs){ 0 };
}
