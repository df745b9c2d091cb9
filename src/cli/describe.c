/*
 * describe.c - completion and man pages from the command tables; see describe.h.
 */
#include "cli/describe.h"

#include <stdbool.h>
#include <string.h>

#include "cli/commands.h"
#include "heshare/version.h"

static void bash_options(const struct command *c, FILE *f)
{
	for (const struct opt *o = c->opts; o && o->name; o++)
		fprintf(f, " --%s", o->name);
}

static void bash_choices(const struct command *c, FILE *f)
{
	for (const struct opt *o = c->opts; o && o->name; o++) {
		if (!o->choices)
			continue;
		fprintf(f, "\t%s:--%s) COMPREPLY=($(compgen -W \"", c->name, o->name);
		for (size_t i = 0; o->choices[i]; i++)
			fprintf(f, "%s ", o->choices[i]);
		fputs("\" -- \"$cur\")); return ;;\n", f);
	}
}

static void bash(FILE *f)
{
	fputs("_heshare() {\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	      "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\tCOMPREPLY=($(compgen -W \"", f);
	for (size_t i = 0; commands[i]; i++)
		fprintf(f, "%s ", commands[i]->name);
	fputs("help completion\" -- \"$cur\"))\n\t\treturn\n\tfi\n\tcase ${COMP_WORDS[1]}:$prev in\n", f);
	for (size_t i = 0; commands[i]; i++)
		bash_choices(commands[i], f);
	fputs("\tesac\n\tcase ${COMP_WORDS[1]}:$cur in\n", f);
	for (size_t i = 0; commands[i]; i++) {
		fprintf(f, "\t%s:-*) COMPREPLY=($(compgen -W \"--help", commands[i]->name);
		bash_options(commands[i], f);
		fputs("\" -- \"$cur\")) ;;\n", f);
	}
	fputs("\t*) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n\tesac\n}\n"
	      "complete -o filenames -F _heshare heshare\n", f);
}

static void fish(FILE *f)
{
	for (size_t i = 0; commands[i]; i++) {
		const struct command *c = commands[i];

		fprintf(f, "complete -c heshare -n __fish_use_subcommand -a %s -d '%s'\n", c->name, c->summary);
		for (const struct opt *o = c->opts; o && o->name; o++) {
			fprintf(f, "complete -c heshare -n '__fish_seen_subcommand_from %s' -l %s", c->name, o->name);
			if (o->kind != OPT_FLAG)
				fputs(" -r", f);
			if (o->choices) {
				fputs(" -a '", f);
				for (size_t k = 0; o->choices[k]; k++)
					fprintf(f, "%s ", o->choices[k]);
				fputc('\'', f);
			}
			fputc('\n', f);
		}
	}
}

int describe_completion(const char *shell, FILE *f)
{
	if (strcmp(shell, "bash") == 0) {
		bash(f);
	} else if (strcmp(shell, "zsh") == 0) {
		fputs("autoload -U +X bashcompinit && bashcompinit\n", f);
		bash(f);
	} else if (strcmp(shell, "fish") == 0) {
		fish(f);
	} else {
		fprintf(stderr, "heshare completion: \"%s\" is not one of bash, zsh, fish\n", shell);
		return 2;
	}
	return 0;
}

/* roff text: hyphens and backslashes escaped, a leading dot kept from being a request. */
static void roff(const char *s, FILE *f)
{
	bool line_start = true;

	for (; *s; s++) {
		if (line_start && (*s == '.' || *s == '\''))
			fputs("\\&", f);
		if (*s == '-')
			fputs("\\-", f);
		else if (*s == '\\')
			fputs("\\e", f);
		else
			fputc(*s, f);
		line_start = *s == '\n';
	}
}

static void section(const char *title, const char *text, FILE *f)
{
	fprintf(f, ".SH %s\n", title);
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, "\n");
		char line[1024];

		snprintf(line, sizeof(line), "%.*s", (int)n, p);
		if (n)
			roff(line, f);
		else
			fputs(".PP", f);
		fputc('\n', f);
		p += n + (p[n] == '\n');
	}
}

static void man_option(const struct opt *o, FILE *f)
{
	fputs(".TP\n", f);
	if (o->letter)
		fprintf(f, "\\fB\\-%c\\fR, ", o->letter);
	fputs("\\fB\\-\\-", f);
	roff(o->name, f);
	fputs("\\fR", f);
	if (o->arg)
		fprintf(f, " \\fI%s\\fR", o->arg);
	fputc('\n', f);
	roff(o->help, f);
	for (size_t i = 0; o->choices && o->choices[i]; i++)
		fprintf(f, "%s%s", i ? ", " : ": ", o->choices[i]);
	if (o->def) {
		fputs(". Default: ", f);
		roff(o->def, f);
	}
	fputs(".\n", f);
}

static void man_command(const struct command *c, FILE *f)
{
	fprintf(f, ".TH HESHARE\\-%s 1 \"\" \"heshare %s\" \"heshare manual\"\n", c->name, HES_VERSION);
	fprintf(f, ".SH NAME\nheshare\\-%s \\- ", c->name);
	roff(c->summary, f);
	fprintf(f, "\n.SH SYNOPSIS\n\\fBheshare %s\\fR %s\\fI%s\\fR\n", c->name,
		c->opts ? "[\\fIOPTION\\fR]... " : "", c->args);
	section("DESCRIPTION", c->text, f);
	if (c->opts)
		fputs(".SH OPTIONS\n", f);
	for (const struct opt *o = c->opts; o && o->name; o++)
		man_option(o, f);
	if (c->example) {
		fputs(".SH EXAMPLE\n.nf\n", f);
		roff(c->example, f);
		fputs("\n.fi\n", f);
	}
	fputs(".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage.\n.SH SEE ALSO\nheshare(1)\n", f);
}

static void man_program(FILE *f)
{
	fprintf(f, ".TH HESHARE 1 \"\" \"heshare %s\" \"heshare manual\"\n", HES_VERSION);
	fputs(".SH NAME\nheshare \\- share GPUs between jobs for speed and energy\n"
	      ".SH SYNOPSIS\n\\fBheshare\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]... [\\fIOPERAND\\fR]...\n"
	      ".SH DESCRIPTION\nheshare decides which GPU each job goes to, which jobs share a GPU and\n"
	      "with what part of its SMs, and at which clock.\n.SH COMMANDS\n", f);
	for (size_t i = 0; commands[i]; i++) {
		fprintf(f, ".TP\n\\fB%s\\fR\n", commands[i]->name);
		roff(commands[i]->summary, f);
		fprintf(f, "; see heshare\\-%s(1).\n", commands[i]->name);
	}
	fputs(".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage.\n", f);
}

int describe_man(const struct command *c, FILE *f)
{
	if (c)
		man_command(c, f);
	else
		man_program(f);
	return 0;
}
