/*
 * manual.c - man pages from the command tables; see describe.h.
 */
#include "cli/describe.h"

#include <ctype.h>
#include <string.h>

#include "cli/commands.h"
#include "heshare/version.h"

/* roff text: hyphens and backslashes escaped, a leading dot kept from being a request. */
static void roff_n(const char *s, size_t n, FILE *f)
{
	for (size_t i = 0; i < n; i++) {
		if ((i == 0 || s[i - 1] == '\n') && (s[i] == '.' || s[i] == '\''))
			fputs("\\&", f);
		if (s[i] == '-')
			fputs("\\-", f);
		else if (s[i] == '\\')
			fputs("\\e", f);
		else
			fputc(s[i], f);
	}
}

static void roff(const char *s, FILE *f)
{
	roff_n(s, strlen(s), f);
}

/* Paragraphs are parted by empty lines. */
static void section(const char *title, const char *text, FILE *f)
{
	fprintf(f, ".SH %s\n", title);
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, "\n");

		if (n)
			roff_n(p, n, f);
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
	opt_tell_words(o, f);
	if (o->def) {
		fputs(". Default: ", f);
		roff(o->def, f);
	}
	fputs(".\n", f);
}

/* "fair run" is the page fair-run. */
static void page_name(const struct command *c, char out[64])
{
	snprintf(out, 64, "%s", c->name);
	if (strchr(out, ' '))
		*strchr(out, ' ') = '-';
}

static void man_reference(const struct command *c, const char *word, FILE *f)
{
	char page[64];

	page_name(c, page);
	fprintf(f, ".TP\n\\fB%s\\fR\n", word);
	roff(c->summary, f);
	fprintf(f, "; see heshare-%s(1).\n", page);
}

static void man_command(const struct command *c, FILE *f)
{
	char page[64];

	page_name(c, page);
	fputs(".TH HESHARE\\-", f);
	for (const char *p = page; *p; p++)
		fputc(toupper((unsigned char)*p), f);
	fprintf(f, " 1 \"\" \"heshare %s\" \"heshare manual\"\n", HES_VERSION);
	fprintf(f, ".SH NAME\nheshare\\-%s \\- ", page);
	roff(c->summary, f);
	fprintf(f, "\n.SH SYNOPSIS\n\\fBheshare %s\\fR%s", c->name,
		opt_shown(c->opts) ? " [\\fIOPTION\\fR]..." : "");
	if (c->args[0])
		fprintf(f, " \\fI%s\\fR", c->args);
	fputc('\n', f);
	section("DESCRIPTION", c->text, f);
	if (opt_shown(c->opts))
		fputs(".SH OPTIONS\n", f);
	for (const struct opt *o = opt_shown(c->opts); o; o = opt_shown(o + 1)) {
		if (o->heading)
			fprintf(f, ".SS %s\n", o->heading);
		man_option(o, f);
	}
	if (c->subs)
		fputs(".SH ACTIONS\n", f);
	for (size_t i = 0; c->subs && c->subs[i]; i++)
		man_reference(c->subs[i], c->subs[i]->name + strlen(c->name) + 1, f);
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
	      ".SH SYNOPSIS\n\\fBheshare\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]... "
	      "[\\fIOPERAND\\fR]...\n"
	      ".SH DESCRIPTION\nheshare decides which GPU each job goes to, which jobs share a GPU "
	      "and\n"
	      "with what part of its SMs, and at which clock.\n.SH COMMANDS\n",
	      f);
	for (size_t i = 0; commands[i]; i++)
		man_reference(commands[i], commands[i]->name, f);
	for (const struct about_word *w = about_words; w->name; w++)
		fprintf(f, ".TP\n\\fB%s\\fR %s\n%s.\n", w->name, w->args, w->summary);
	fputs(".SH OUTPUT\nText for people on standard output; with \\-\\-json, where a command "
	      "has it, one JSON\n"
	      "document. Progress goes to standard error and only to a terminal. A file is whole "
	      "or\n"
	      "not there.\n"
	      ".SH ENVIRONMENT\n.TP\n\\fBHESHARE_STORE\\fR\nThe store of commands that are given "
	      "no \\-\\-store. Without it, heshare/store.db\n"
	      "below XDG_DATA_HOME, or below ~/.local/share.\n"
	      ".TP\n\\fBNO_COLOR\\fR, \\fBTERM\\fR\nWith NO_COLOR, or on a terminal \"dumb\", "
	      "nothing is bold; on a dumb one no progress is shown.\n"
	      ".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage.\n",
	      f);
}

int describe_man(const struct command *c, FILE *f)
{
	if (c)
		man_command(c, f);
	else
		man_program(f);
	return 0;
}
