/*
 * cli.c - errors, JSON and progress of the commands; see cli.h.
 */
#include "cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/visible.h"
#include "cli/terminal.h"

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

static const char *running_command = "";

static const char *environment_variable(void *ctx, const char *name)
{
	(void)ctx;
	return getenv(name);
}

static int environment_set(void *ctx, const char *name, const char *value)
{
	(void)ctx;
	return (value ? setenv(name, value, 1) : unsetenv(name)) ? -errno : 0;
}

static void app_sentence(void *ctx, const char *sentence)
{
	(void)ctx;
	cli_say(running_command, sentence);
}

const struct app *cli_app(void)
{
	static const struct app app = {
		.variable = environment_variable,
		.set_variable = environment_set,
		.say = app_sentence,
	};

	return &app;
}

void cli_app_begin(const char *command)
{
	running_command = command;
}

bool cli_reader_gone(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

/* Whether an error is of what was typed, not of the machine. */
static bool is_of_a_value(int code)
{
	return code == -EINVAL || code == -ERANGE || code == -ENOENT || code == -EEXIST ||
	       code == -E2BIG;
}

int cli_fail(const char *command, const struct hes_err *err)
{
	if (err->code == -EPIPE && cli_reader_gone())
		return CLI_READER_GONE;
	cli_say(command, err->msg);
	return strncmp(err->msg, "--", 2) == 0 && is_of_a_value(err->code) ? 2 : 1;
}

json_t *cli_json_maybe(bool known, double value)
{
	return known ? json_real(value) : json_null();
}

int cli_print_json(const char *format, json_t *members)
{
	json_t *doc = hes_json_document(format, members);
	int rc = doc ? json_dumpf(doc, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(10)) : -1;

	json_decref(doc);
	if (rc || putchar('\n') == EOF) {
		if (cli_reader_gone())
			return CLI_READER_GONE;
		fputs("heshare: cannot write JSON to standard output\n", stderr);
		return 1;
	}
	return 0;
}

void cli_print_table(struct table *t, FILE *f, int indent)
{
	table_print(t, f, indent, terminal_table_width());
}

int cli_table_out(struct table *t, const char *format, const char *rows, bool json)
{
	if (json)
		return cli_print_json(format, json_pack("{s:o}", rows, table_json(t)));
	cli_print_table(t, stdout, 0);
	return 0;
}

const char *cli_rough_time(char out[HES_QUANTITY_MAX], double us)
{
	if (us < 0 || us >= 59.5e6)
		return hes_time_text(out, us);
	snprintf(out, HES_QUANTITY_MAX, "%.0f s", us * 1e-6);
	return out;
}

void cli_progress(const char *what, uint64_t done, uint64_t total)
{
	static int64_t first_ms, last_ms;
	const int64_t now_ms = hes_monotonic_ms();
	char left[HES_QUANTITY_MAX];

	if (!terminal_is_live(STDERR_FILENO))
		return;
	first_ms = first_ms ? first_ms : now_ms;
	if (done < total && now_ms - last_ms < 100)
		return;
	last_ms = now_ms;
	if (done == total) {
		first_ms = 0;
		fputs("\r\033[K", stderr);
	} else {
		fprintf(stderr, "\r%s %" PRIu64 "/%" PRIu64, what, done, total);
		if (done && now_ms - first_ms >= 1000)
			fprintf(stderr, ", about %s left",
				cli_rough_time(left, (double)(now_ms - first_ms) * 1e3 *
							     (double)(total - done) /
							     (double)done));
		fputs("\033[K", stderr);
	}
	fflush(stderr);
}
