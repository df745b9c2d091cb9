/*
 * usage.c - command lines of the programs of this folder; see usage.h.
 */
#include "usage.h"

#include <string.h>

static void help(const struct command *c)
{
	printf("usage: %s [OPTION]... %s\n\n%s\n\noptions:\n", c->name, c->args, c->summary);
	for (const struct opt *o = c->opts; o->name; o++) {
		char left[48];

		snprintf(left, sizeof(left), "--%s%s%s", o->name, o->arg ? " " : "",
			 o->arg ? o->arg : "");
		printf("  %-20s %s", left, o->help);
		if (o->def)
			printf("; default %s", o->def);
		putchar('\n');
	}
}

int usage_parse(const struct command *c, int argc, char **argv, void *values, int *status)
{
	struct hes_err err;
	int n;

	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0) {
			help(c);
			*status = 0;
			return -1;
		}
	n = opt_parse(c, argc, argv, values, &err);
	if (n >= 0)
		return n;
	fprintf(stderr, "%s: %s\n", c->name, err.msg);
	*status = 2;
	return -1;
}
