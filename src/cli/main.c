/*
 * main.c - the heshare program: find the command, parse its options, run it.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/describe.h"
#include "heshare/version.h"

static void usage(FILE *f)
{
	fputs("usage: heshare COMMAND [OPTION]... [OPERAND]...\n\n"
	      "Decide which GPU each job goes to, which jobs share a GPU and with what part\n"
	      "of its SMs, and at which clock.\n\ncommands:\n", f);
	for (size_t i = 0; commands[i]; i++)
		fprintf(f, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
	fputs("  help         say what a command does\n"
	      "  completion   print completion for a shell: bash, zsh or fish\n"
	      "\nheshare COMMAND --help tells more; --version tells the version.\n", f);
}

static int no_such_command(const char *name)
{
	const char *names[64], *near;
	size_t n = 0;

	while (n < 64 && commands[n]) {
		names[n] = commands[n]->name;
		n++;
	}
	near = opt_nearest(name, names, n);
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

static int run(const struct command *c, int argc, char **argv)
{
	struct hes_err err = { 0 };
	void *values;
	int n, rc;

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
	if (n < 0) {
		fprintf(stderr, "heshare %s\n", err.msg);
		free(values);
		return 2;
	}
	rc = c->run(values, n, argv + 1);
	free(values);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "heshare %s: cannot write standard output\n", c->name);
		return 1;
	}
	return rc;
}

/* Words that are not commands of their own: help, --version, completion, man. */
static int run_meta(int argc, char **argv)
{
	const struct command *c = argc > 2 ? command_find(argv[2]) : NULL;

	if (strcmp(argv[1], "--version") == 0) {
		puts("heshare " HES_VERSION);
		return 0;
	}
	if (strcmp(argv[1], "completion") == 0)
		return describe_completion(argc > 2 ? argv[2] : "", stdout);
	if (strcmp(argv[1], "man") == 0)
		return describe_man(c, stdout);
	if (argc > 2 && !c)
		return no_such_command(argv[2]);
	if (c)
		opt_help(c, stdout);
	else
		usage(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const meta[] = { "help", "--help", "-h", "--version", "completion", "man" };
	const struct command *c;

	if (argc < 2) {
		usage(stderr);
		return 2;
	}
	for (size_t i = 0; i < sizeof(meta) / sizeof(meta[0]); i++)
		if (strcmp(argv[1], meta[i]) == 0)
			return run_meta(argc, argv);
	c = command_find(argv[1]);
	return c ? run(c, argc - 1, argv + 1) : no_such_command(argv[1]);
}
