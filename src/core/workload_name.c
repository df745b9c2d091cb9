/*
 * workload_name.c - the workload of a job that names none, and that of a whole run; see job.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "heshare/job.h"

#define NAME_HASH     14 /* bytes of " #" and 48 bits of a hash */
#define WHOLE_RUN     ": whole run"
#define WHOLE_RUN_LEN (sizeof(WHOLE_RUN) - 1)

/* Bytes of the beginning of @text that a name can have, at most @max. A comma separates co-runners
 * in points (core/co_run_text.h). */
static size_t name_part(const char *text, size_t max)
{
	const size_t all = strlen(text);
	size_t n = 0, one;

	while (n < all && text[n] != ',' && !hes_utf8_is_control(text + n) &&
	       (one = hes_utf8_character(text + n, all - n)) && n + one <= max)
		n += one;
	return n;
}

/* @param max  bytes of the name, at most HES_NAME_MAX - 1 */
static void name_command(const char *command, size_t max, char out[HES_NAME_MAX])
{
	const uint64_t hash = hes_hash_text(HES_HASH_START, command);
	size_t n = strlen(command);

	if (n && name_part(command, max) == n) {
		memcpy(out, command, n + 1);
		return;
	}
	n = name_part(command, max - NAME_HASH);
	snprintf(out, HES_NAME_MAX, "%.*s%s%012" PRIx64, (int)n, command,
		 n && command[n - 1] == ' ' ? "#" : " #", hash >> 16);
}

void hes_job_workload_of(const char *command, char out[HES_NAME_MAX])
{
	name_command(command, HES_NAME_MAX - 1, out);
}

void hes_job_whole_run_of(const char *command, char out[HES_NAME_MAX])
{
	name_command(command, HES_NAME_MAX - 1 - WHOLE_RUN_LEN, out);
	strcat(out, WHOLE_RUN);
}

bool hes_workload_is_whole_run(const char *workload)
{
	const size_t n = strlen(workload);

	return n > WHOLE_RUN_LEN && strcmp(workload + n - WHOLE_RUN_LEN, WHOLE_RUN) == 0;
}

/* The length of a name without its unit. */
static int name_given(const char *workload, bool whole_run)
{
	const size_t n = strlen(workload);

	return (int)(whole_run && hes_workload_is_whole_run(workload) ? n - WHOLE_RUN_LEN : n);
}

/* @param shown  the text, or what a table prints of it without its middle */
static bool name_is_shown_as(const char *text, const char *shown)
{
	static const char *const gaps[] = { "\xE2\x80\xA6", "..." };
	const size_t n = strlen(text);

	for (size_t i = 0; i < 2; i++) {
		const char *gap = strstr(shown, gaps[i]), *end = gap ? gap + strlen(gaps[i]) : "";

		if (gap && (size_t)(gap - shown) + strlen(end) <= n && gap + strlen(end) > shown &&
		    !strncmp(text, shown, (size_t)(gap - shown)) &&
		    !strcmp(text + n - strlen(end), end))
			return true;
	}
	return !strcmp(text, shown);
}

bool hes_workload_is_meant(const char *workload, uint32_t batch_size, const char *text)
{
	char name[HES_NAME_MAX], with_batch[HES_NAME_MAX + 16], command[HES_NAME_MAX];

	snprintf(name, sizeof(name), "%.*s", name_given(workload, true), workload);
	snprintf(with_batch, sizeof(with_batch), "%s/%" PRIu32, name, batch_size);
	if (name_is_shown_as(workload, text) || name_is_shown_as(name, text) ||
	    name_is_shown_as(with_batch, text))
		return true;
	hes_job_workload_of(text, command);
	if (!strcmp(command, workload))
		return true;
	hes_job_whole_run_of(text, command);
	return !strcmp(command, workload);
}

int hes_job_name_unit(struct hes_job *job, const char *pattern, struct hes_err *err)
{
	const char *command = job->command ? job->command : pattern ? pattern : "";
	const size_t n = strlen(job->workload);
	char own[HES_NAME_MAX];

	if (hes_workload_is_whole_run(job->workload))
		return job->whole_run
			       ? 0
			       : hes_fail(err, -EINVAL,
					  "workload: \"%s\" is a job without iterations; leave the "
					  "iterations out, or take another name",
					  job->workload);
	if (!job->whole_run)
		return 0;
	hes_job_workload_of(command, own);
	if (strcmp(own, job->workload) == 0)
		hes_job_whole_run_of(command, job->workload);
	else if (n + WHOLE_RUN_LEN < HES_NAME_MAX)
		strcpy(job->workload + n, WHOLE_RUN);
	else
		return hes_fail(err, -ERANGE,
				"workload: \"%s\" has %zu bytes; a job without iterations may have "
				"%zu, because \"" WHOLE_RUN "\" is added",
				job->workload, n, HES_NAME_MAX - 1 - WHOLE_RUN_LEN);
	return 0;
}

void hes_job_name_iterations(struct hes_job *job, const char *pattern)
{
	const char *command = job->command ? job->command : pattern ? pattern : "";
	char whole[HES_NAME_MAX];

	hes_job_whole_run_of(command, whole);
	if (strcmp(whole, job->workload) == 0)
		hes_job_workload_of(command, job->workload);
	job->workload[hes_job_workload_given(job)] = '\0';
}

int hes_job_workload_given(const struct hes_job *job)
{
	return name_given(job->workload, job->whole_run);
}

bool hes_job_is_script(const struct hes_job *job)
{
	return job->whole_run && job->command;
}

int hes_job_fail_script(const struct hes_job *job, struct hes_err *err)
{
	return hes_fail(
		err, -ENOENT,
		"job %s: \"%.*s\" was never measured; heshare run runs such a job alone, and "
		"measures it for the next plan",
		job->id, hes_job_workload_given(job), job->workload);
}
