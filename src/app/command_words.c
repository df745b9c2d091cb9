/*
 * command_words.c - fill the pattern of a job's command; see command_words.h.
 */
#include "app/command_words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
