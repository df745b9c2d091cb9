/*
 * run_last_lines.c - the end of a job's output; see run_last_lines.h.
 *
 * The job wrote it, so nothing in it may reach the terminal as a command (base/visible.h). Progress
 * bars return to the start of a line: what was printed over counts as a line of its own.
 */
#include "app/run_last_lines.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/visible.h"
#include "launch/job_files.h"
#include "run/run_files.h"

#define END_BYTES  4096 /* of the file */
#define LINE_BYTES 200  /* of a line; the rest is left out */

/* @return how many bytes of the file's end @out has */
static size_t read_end(const struct hes_job_folder *folder, const char *name, char out[END_BYTES])
{
	int fd = hes_job_file_read(folder, name, NULL);
	off_t size;
	ssize_t n = 0;

	if (fd < 0)
		return 0;
	size = lseek(fd, 0, SEEK_END);
	if (size > 0)
		n = pread(fd, out, END_BYTES, size > END_BYTES ? size - END_BYTES : 0);
	close(fd);
	return n > 0 ? (size_t)n : 0;
}

static char *safe_line(const char *text, size_t len)
{
	char *out = NULL;
	size_t size, part = len < LINE_BYTES ? len : LINE_BYTES;
	FILE *f = open_memstream(&out, &size);

	if (!f)
		return NULL;
	/* A character is not cut in two. */
	while (part < len && part > LINE_BYTES - 4 && ((unsigned char)text[part] & 0xc0) == 0x80)
		part--;
	hes_visible_put_part(f, text, part);
	if (part < len)
		fputs(" ...", f);
	if (!fclose(f))
		return out;
	free(out);
	return NULL;
}

static bool ends_line(char c)
{
	return c == '\n' || c == '\r' || c == '\0';
}

/* From the last line to the first. */
static void take_lines(char *text, size_t n, struct last_lines *out)
{
	char *found[LAST_LINES];
	size_t lines = 0;

	for (size_t end = n, at; end > 0 && lines < LAST_LINES; end = at ? at - 1 : 0) {
		bool blank = true;

		for (at = end; at > 0 && !ends_line(text[at - 1]); at--) {
			text[at - 1] = text[at - 1] == '\t' ? ' ' : text[at - 1];
			blank &= text[at - 1] == ' ';
		}
		found[lines] = blank ? NULL : safe_line(text + at, end - at);
		lines += found[lines] != NULL;
	}
	while (lines)
		out->v[out->n++] = found[--lines];
}

/* @return where the output of the last attempt begins in @text */
static size_t last_attempt(const char *text, size_t n)
{
	static const char line[] = "\n" RUN_OUTPUT_NEXT "\n";
	const char *at = text, *found;
	size_t from = 0;

	while ((found = memmem(at, n - (size_t)(at - text), line, sizeof(line) - 1))) {
		from = (size_t)(found - text) + sizeof(line) - 1;
		at = found + 1;
	}
	return from;
}

void last_lines_read(const char *folder, const char *job, struct last_lines *out)
{
	struct hes_job_folder f = { .fd = -1 };
	char name[RUN_FILE_NAME_MAX], text[END_BYTES];
	size_t n = 0, from;

	*out = (struct last_lines){ 0 };
	run_output_name(job, name);
	if (asprintf(&out->log, "%s/%s", folder, name) < 0)
		out->log = NULL;
	if (!hes_job_folder_open(&f, folder, NULL))
		n = read_end(&f, name, text);
	from = last_attempt(text, n);
	take_lines(text + from, n - from, out);
	hes_job_folder_close(&f);
}

void last_lines_free(struct last_lines *l)
{
	free(l->log);
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	*l = (struct last_lines){ 0 };
}
