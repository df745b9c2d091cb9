/*
 * explain.c - what a word of a command line may be, and manual pages, from the command tables; see
 * explain.h. The scripts of the shells (data/completion) print what is offered here.
 */
#include "cli/explain.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "app/known_store.h"
#include "base/data.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "heshare/journal.h"
#include "heshare/version.h"

#define RUNS    20 /* the last ones */
#define WAIT_MS 200

/* What is offered for the last word. */
struct offering {
	const char *last, *before; /* the word, and the part of it that is in front of each offer */
	int n_before;
	size_t n; /* offers */
};

static void offer_about(struct offering *o, const char *word, const char *about)
{
	const size_t n = strlen(o->last + o->n_before);

	if (strncmp(word, o->last + o->n_before, n) != 0)
		return;
	printf("%.*s%s%s%s\n", o->n_before, o->last, word, *about ? "\t" : "", about);
	o->n++;
}

static void offer_word(const char *word, void *ctx)
{
	offer_about(ctx, word, "");
}

static void offer_commands(struct offering *o)
{
	for (size_t i = 0; commands[i]; i++)
		offer_about(o, commands[i]->name, commands[i]->summary);
	for (const struct about_word *w = about_words; w->name; w++)
		offer_about(o, w->name, w->summary);
}

static void offer_subs(struct offering *o, const struct command *c)
{
	for (size_t i = 0; c && c->subs && c->subs[i]; i++)
		offer_about(o, c->subs[i]->name + strlen(c->name) + 1, c->subs[i]->summary);
}

static void offer_files(void)
{
	puts(":files");
}

static void offer_runs(struct offering *o)
{
	struct hes_store *store = NULL;
	struct hes_journal *j = NULL;
	struct hes_run *runs = NULL;
	size_t n = 0;
	char id[24];

	if (!app_store_open(cli_app(), NULL, HES_STORE_READ, WAIT_MS, &store, NULL) &&
	    !hes_journal_open(store, &j, NULL) && !hes_journal_recent(j, RUNS, &runs, &n, NULL))
		for (size_t i = 0; i < n; i++) {
			snprintf(id, sizeof(id), "%" PRId64, runs[i].id);
			offer_word(id, o);
		}
	free(runs);
	hes_journal_close(j);
	hes_store_close(store);
}

/* @param from  bytes of the last word in front of the value */
static void offer_values(struct offering *o, const struct opt *opt, size_t from)
{
	const char *comma = opt->many ? strrchr(o->last + from, ',') : NULL;

	if (opt->kind == OPT_FILE) {
		offer_files();
		return;
	}
	o->n_before = comma ? (int)(comma + 1 - o->last) : (int)from;
	opt_words(opt, offer_word, o);
}

static void offer_options(struct offering *o, const struct command *c)
{
	char name[64];

	offer_about(o, "--help", "print this help");
	for (const struct opt *opt = opt_shown(c->opts); opt; opt = opt_shown(opt + 1)) {
		snprintf(name, sizeof(name), "--%s", opt->name);
		offer_about(o, name, opt->help);
	}
}

/* @param n  operands before it */
static void offer_operand(struct offering *o, const struct command *c, int n)
{
	if (c->takes_run && !n)
		offer_runs(o);
	else if (n < c->max_args && c->offer)
		c->offer(offer_word, o);
	if (!o->n && n < c->max_args && (n || !c->takes_run))
		offer_files();
}

/* @param n  words behind the command, the last one among them */
static void offer_of_command(struct offering *o, const struct command *c, int n, char **words)
{
	const struct opt *opt, *open = NULL; /* one whose value comes next */
	const char *value;
	bool alone = false, ended = false;
	int operands = 0;

	for (int i = 0; i + 1 < n; i++) {
		const bool is_value = open != NULL;

		open = is_value || ended ? NULL : opt_find(c, words[i], &value);
		alone |= open && open->alone;
		operands += !is_value && !open && (ended || *words[i] != '-');
		ended |= !is_value && !strcmp(words[i], "--");
		if (open && (value || open->kind == OPT_FLAG))
			open = NULL;
	}
	opt = open || ended ? NULL : opt_find(c, o->last, &value);
	if (open)
		offer_values(o, open, 0);
	else if (opt && value)
		offer_values(o, opt, (size_t)(value - o->last));
	else if (!ended && *o->last == '-')
		offer_options(o, c);
	else if (!alone)
		offer_operand(o, c, operands);
}

int describe_offers(int n, char **words)
{
	struct offering o = { .last = n ? words[n - 1] : "" };
	const struct command *c = n > 1 ? command_find(words[0]) : NULL, *sub;
	const bool about = n > 1 && about_find(words[0]);

	if (n < 2 || (n == 2 && about && strcmp(words[0], "completion"))) {
		offer_commands(&o);
	} else if (about && n == 2) {
		for (size_t i = 0; describe_shells[i]; i++)
			offer_word(describe_shells[i], &o);
	} else if (about || (c && c->subs && n == 2)) {
		offer_subs(&o, about && n == 3 ? command_find(words[1]) : c);
	} else if (c) {
		sub = command_sub(c, words[1]);
		offer_of_command(&o, sub ? sub : c, n - 1 - !!sub, words + 1 + !!sub);
	} else {
		offer_files();
	}
	return 0;
}

const char *const describe_shells[] = { "bash", "zsh", "fish", NULL };

int describe_completion(const char *shell, FILE *f)
{
	char name[64];
	const char *text;
	size_t n;

	for (size_t i = 0; describe_shells[i]; i++)
		if (!strcmp(shell, describe_shells[i])) {
			snprintf(name, sizeof(name), "completion/heshare.%s", shell);
			text = hes_data_find(name, &n);
			fwrite(text, 1, n, f);
			return 0;
		}
	if (*shell)
		fprintf(stderr, "heshare completion: \"%s\" is not one of bash, zsh, fish\n",
			shell);
	else
		fputs("heshare completion: missing operand; usage: heshare completion "
		      "bash|zsh|fish\n",
		      stderr);
	return 2;
}

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
