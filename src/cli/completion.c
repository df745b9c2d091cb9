/*
 * completion.c - what a word of a command line may be, from the command tables; see describe.h.
 * The scripts of the shells (data/completion) print what is offered here.
 */
#include "cli/describe.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "app/known_store.h"
#include "base/data.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "heshare/journal.h"

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
