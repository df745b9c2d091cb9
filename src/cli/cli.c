/*
 * cli.c - errors, JSON and progress of the commands; see cli.h.
 */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/visible.h"

void cli_say(const char *command, const char *sentence)
{
	char *line = NULL;
	size_t size;
	FILE *f = open_memstream(&line, &size);

	/* In one write: others may write there, too. */
	if (f) {
		fprintf(f, "heshare %s: ", command);
		hes_visible_put(f, 0, sentence);
		fputc('\n', f);
	}
	fputs(f && !fclose(f) ? line : "heshare: out of memory\n", stderr);
	free(line);
}

int cli_fail(const char *command, const struct hes_err *err)
{
	cli_say(command, err->msg);
	return 1;
}

json_t *cli_json_maybe(bool known, double value)
{
	return known ? json_real(value) : json_null();
}

int cli_print_json(json_t *doc)
{
	int rc = doc ? json_dumpf(doc, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(10)) : -1;

	json_decref(doc);
	if (rc || putchar('\n') == EOF) {
		fputs("heshare: cannot write JSON to standard output\n", stderr);
		return 1;
	}
	return 0;
}

void cli_progress(const char *what, uint64_t done, uint64_t total)
{
	static int64_t last_ms;
	const int64_t now_ms = hes_monotonic_ms();

	if (!isatty(STDERR_FILENO))
		return;
	if (done < total && now_ms - last_ms < 100)
		return;
	last_ms = now_ms;
	fprintf(stderr, "\r%s %" PRIu64 "/%" PRIu64 "%s", what, done, total, done == total ? "\033[K\r" : "");
	fflush(stderr);
}
