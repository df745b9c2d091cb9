/*
 * main.c - the heshare program: find the command, parse its options, run it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/texts.h"
#include "base/signals.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/explain.h"
#include "cli/terminal.h"
#include "heshare/version.h"

static void usage(FILE *f)
{
	fputs("usage: heshare COMMAND [OPTION]... [OPERAND]...\n\n"
	      "Decides which GPU runs each job, which jobs share a GPU, with which\n"
	      "SM shares and at which clock.\n",
	      f);
	for (size_t i = 0; commands[i]; i++) {
		if (command_group(commands[i]))
			fprintf(f, "\n%s:\n", command_group(commands[i]));
		fprintf(f, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
	}
	fputs("\nabout heshare:\n", f);
	for (const struct about_word *w = about_words; w->name; w++)
		fprintf(f, "  %-12s %s\n", w->name, w->summary);
	fputs("\nheshare COMMAND --help explains a command; --version prints the version.\n", f);
}

static int no_such_command(const char *name)
{
	const char *names[64] = { "--version", "--help" }, *near;
	size_t n = 2;

	for (size_t i = 0; n < 60 && commands[i]; i++)
		names[n++] = commands[i]->name;
	for (const struct about_word *w = about_words; w->name && n < 64; w++)
		names[n++] = w->name;
	near = strcmp(name, "-V") == 0 ? "--version" : hes_text_nearest(name, names, n);
	fprintf(stderr, "heshare: no command \"%s\"%s%s%s; see heshare help\n", name,
		near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
	return 2;
}

static bool asks_help(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return true;
	return false;
}

/* Output must have reached the reader. A command that failed has reported why. */
static int flushed(const char *name, int status)
{
	const bool failed = fflush(stdout) || ferror(stdout);

	if (failed && cli_reader_gone())
		return CLI_READER_GONE;
	if (failed && !status) {
		fprintf(stderr, "heshare %s: cannot write standard output: %s\n", name,
			strerror(errno));
		return 1;
	}
	return status;
}

static int no_such_sub(const struct command *c, const char *word)
{
	const char *names[32], *near;
	size_t n = 0;

	for (; n < 32 && c->subs[n]; n++)
		names[n] = c->subs[n]->name + strlen(c->name) + 1;
	near = hes_text_nearest(word, names, n);
	fprintf(stderr, "heshare %s: nothing called \"%.60s\"%s%s%s; there %s ", c->name, word,
		near ? " (did you mean " : "", near ? near : "", near ? "?)" : "",
		n == 1 ? "is" : "are");
	for (size_t i = 0; i < n; i++)
		fprintf(stderr, "%s%s", names[i], i + 1 < n ? ", " : "\n");
	return 2;
}

/* Whether standard output is for programs, of which nothing is wrapped: with --json, or "-" for an
 * output file. */
static bool prints_data(const struct command *c, const void *values)
{
	for (const struct opt *o = c->opts; o && o->name; o++) {
		const void *value = (const char *)values + o->offset;

		if (o->kind == OPT_FLAG && strcmp(o->name, "json") == 0 && *(const bool *)value)
			return true;
		if (o->kind == OPT_FILE && *(const char *const *)value &&
		    strcmp(*(const char *const *)value, "-") == 0)
			return true;
	}
	return false;
}

static int run(const struct command *c, int argc, char **argv)
{
	struct terminal_page *page;
	struct hes_err err = { 0 };
	void *values;
	int n, rc;

	if (argc > 1 && command_sub(c, argv[1]))
		return run(command_sub(c, argv[1]), argc - 1, argv + 1);
	if (asks_help(argc, argv)) {
		opt_help(c, stdout);
		return 0;
	}
	values = calloc(1, c->opts_size ? c->opts_size : 1);
	if (!values) {
		fputs("heshare: out of memory\n", stderr);
		return 1;
	}
	n = opt_parse(c, argc, argv, values, &err);
	rc = n < 0 ? 2 : opt_check_written(c, values, &err) ? 1 : 0;
	if (rc) {
		cli_fail(c->name, &err);
	} else if (c->subs) {
		rc = no_such_sub(c, argv[1]);
	} else {
		page = prints_data(c, values) ? NULL : terminal_fit();
		cli_app_begin(c->name);
		rc = c->run(&(struct call){ values, n, argv + 1 }, &err);
		if (rc < 0)
			rc = cli_fail(c->name, &err);
		else if (rc == OPT_USAGE && *err.msg)
			cli_say(c->name, err.msg);
		terminal_finish(page);
	}
	free(values);
	return rc;
}

static int print_help(const struct command *c)
{
	if (c)
		opt_help(c, stdout);
	else
		usage(stdout);
	return 0;
}

static int print_page(const struct command *c)
{
	return describe_man(c, stdout);
}

static int print_about(const struct about_word *w)
{
	printf("usage: heshare %s %s\n\n%s\n%s%s", w->name, w->args, w->summary,
	       *w->text ? "\n" : "", w->text);
	return 0;
}

/* help and man: of the program, or of one of its commands. */
static int run_about(int argc, char **argv, int (*print)(const struct command *))
{
	const char *of = argc > 2 ? argv[2] : "heshare";
	const struct command *c = command_find(of), *one = c;

	if (c && c->subs && argc > 3)
		one = command_sub(c, argv[3]);
	if (c && !one)
		return no_such_sub(c, argv[3]);
	return c || strcmp(of, "heshare") == 0 ? print(one) : no_such_command(of);
}

static int dispatch(int argc, char **argv)
{
	const char *word = argv[1];
	const struct command *c = command_find(word);

	if (c)
		return run(c, argc - 1, argv + 1);
	if (strcmp(word, "help") == 0 && argc > 2 && about_find(argv[2]))
		return print_about(about_find(argv[2]));
	if (about_find(word) && asks_help(argc - 1, argv + 1))
		return print_about(about_find(word));
	if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return run_about(argc, argv, print_help);
	if (strcmp(word, "man") == 0)
		return run_about(argc, argv, print_page);
	if (strcmp(word, "completion") == 0)
		return describe_completion(argc > 2 ? argv[2] : "", stdout);
	if (strcmp(word, "--complete") == 0)
		return describe_offers(argc - 2, argv + 2);
	if (strcmp(word, "--version") == 0) {
		puts("heshare " HES_VERSION);
		return 0;
	}
	return no_such_command(word);
}

/*
 * A file that is opened must not get the number of a standard stream that is closed. /dev/null
 * takes its place, opened the other way round: using it fails, as on a closed stream.
 */
static int fill_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	hes_signals_begin();
	if (fill_standard_streams())
		return 1;
	if (argc < 2) {
		usage(stderr);
		return 2;
	}
	return flushed(argv[1], dispatch(argc, argv));
}
