/*
 * completion.c - completion scripts for bash, zsh and fish from the command tables; see describe.h.
 *
 * A script completes commands, then options and words of the command, then values of options or
 * file names. Values that the tables do not know complete to nothing; numbers of runs are those of
 * the store.
 */
#include "cli/describe.h"

#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"

static const char shells[] = "bash zsh fish";

/* Print the numbers of runs. */
#define RUNS                                           \
	"command heshare status --json 2>/dev/null | " \
	"sed -n 's/.*\"run\": *\\([0-9]*\\).*/\\1/p'"

/* @text with every byte of @special preceded by a backslash, and ' as the shell needs it. */
static void quoted(const char *text, const char *special, const char *quote, FILE *f)
{
	for (; *text; text++) {
		if (*text == '\'') {
			fputs(quote, f);
			continue;
		}
		if (strchr(special, *text))
			fputc('\\', f);
		fputc(*text, f);
	}
}

/* The words behind a command. */
static void list_subs(const struct command *c, FILE *f)
{
	for (size_t i = 0; c->subs[i]; i++)
		fprintf(f, "%s%s", i ? " " : "", c->subs[i]->name + strlen(c->name) + 1);
}

/* A command's name as a pattern of case. */
static const char *pattern(const struct command *c, char out[64])
{
	const char *blank = strchr(c->name, ' ');

	snprintf(out, 64, "%.*s%s%s", blank ? (int)(blank - c->name) : (int)strlen(c->name),
		 c->name, blank ? "\\ " : "", blank ? blank + 1 : "");
	return out;
}

static void add_word(const char *word, void *ctx)
{
	FILE *f = ctx;

	fprintf(f, "%s%s", ftell(f) > 0 ? " " : "", word);
}

/* The words that a value of @o may be, with blanks between them; "" for none. The caller's: free()
 */
static char *values(const struct opt *o)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (f) {
		opt_words(o, add_word, f);
		fclose(f);
	}
	return text ? text : strdup("");
}

/* The same of a command's operands. */
static char *operands(const struct command *c)
{
	const struct opt as_option = { .offer = c->offer };

	return values(&as_option);
}

/* Commands, and words about the program. */
static void all_names(FILE *f)
{
	for (size_t i = 0; commands[i]; i++)
		fprintf(f, "%s ", commands[i]->name);
	for (const struct about_word *w = about_words; w->name; w++)
		fprintf(f, "%s%s", w->name, w[1].name ? " " : "");
}

/* Whether an operand may be a file. */
static bool takes_files(const struct command *c)
{
	return c->max_args > (c->takes_run ? 1 : 0);
}

/* What follows an option that takes a value, or no operand. */
static void bash_value(const struct command *c, const struct opt *o, FILE *f)
{
	char *words, name[64];

	if (o->kind == OPT_FLAG && !o->alone)
		return;
	fprintf(f, "\t%s:--%s", pattern(c, name), o->name);
	if (o->letter)
		fprintf(f, "|%s:-%c", name, o->letter);
	words = values(o);
	if (o->kind == OPT_FILE)
		fputs(") _heshare_files; return ;;\n", f);
	else if (*words)
		fprintf(f, ") _heshare_%s '%s'; return ;;\n", o->many ? "list" : "words", words);
	else
		fputs(") return ;;\n", f);
	free(words);
}

static void bash_values(const struct command *c, FILE *f)
{
	if (c->takes_run)
		fprintf(f,
			"\t%s:%s) [[ $cur == -* ]] || { _heshare_words \"$(_heshare_runs)\"; "
			"return; } ;;\n",
			c->name, c->name);
	for (const struct opt *o = opt_shown(c->opts); o; o = opt_shown(o + 1))
		bash_value(c, o, f);
}

static void bash_command(const struct command *c, FILE *f)
{
	char name[64];

	fprintf(f, "\t%s:-*) COMPREPLY=($(compgen -W '--help", pattern(c, name));
	for (const struct opt *o = opt_shown(c->opts); o; o = opt_shown(o + 1))
		fprintf(f, " --%s", o->name);
	fputs("' -- \"$cur\")) ;;\n", f);
	if (c->offer) {
		char *words = operands(c);

		fprintf(f,
			"\t%s:*) _heshare_words '%s'; [ ${#COMPREPLY[@]} -gt 0 ] || _heshare_files "
			";;\n",
			name, words);
		free(words);
	} else if (!takes_files(c)) {
		fprintf(f, "\t%s:*) ;;\n", name);
	}
}

/* A command with others behind it: its second word is part of the name. */
static void bash_subs(const struct command *c, FILE *f)
{
	if (!c->subs)
		return;
	fprintf(f, "\t%s)\n\t\tif [ \"$COMP_CWORD\" -eq 2 ]; then\n\t\t\tCOMPREPLY=($(compgen -W '",
		c->name);
	list_subs(c, f);
	fprintf(f,
		"' -- \"$cur\"))\n\t\t\treturn\n\t\tfi\n\t\tname=\"%s ${COMP_WORDS[2]}\" "
		";;\n",
		c->name);
}

/* What follows "help COMMAND". */
static void bash_help(const struct command *c, FILE *f)
{
	if (!c->subs)
		return;
	fprintf(f, "\thelp:%s|man:%s) COMPREPLY=($(compgen -W '", c->name, c->name);
	list_subs(c, f);
	fputs("' -- \"$cur\")); return ;;\n", f);
}

/* Bash parts words at = and at colons: a value with colons is put together again, and what comes
 * before the last left out. */
static const char bash_head[] =
	"# bash completion of heshare\n"
	"_heshare_runs() {\n\t" RUNS "\n}\n"
	"_heshare_reply() {\n\tmapfile -t "
	"COMPREPLY\n\tCOMPREPLY=(\"${COMPREPLY[@]#\"$before\"}\")\n}\n"
	"_heshare_files() {\n\tcompopt -o filenames\n"
	"\t_heshare_reply < <(compgen -f -- \"$before$cur\")\n}\n"
	"_heshare_words() {\n\t_heshare_reply < <(compgen -W \"$1\" -- \"$before$cur\")\n}\n"
	"_heshare_list() {\n\tlocal word=$before$cur\n\tlocal last=${word##*,}\n"
	"\t_heshare_reply < <(compgen -P \"${word%\"$last\"}\" -W \"$1\" -- \"$last\")\n}\n"
	"_heshare() {\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} before='' i=$((COMP_CWORD - 1))\n"
	"\tif [[ $cur == [:=] ]]; then\n\t\tcur=\n\t\ti=$COMP_CWORD\n\tfi\n"
	"\twhile [ \"${COMP_WORDS[i]}\" = : ]; do\n"
	"\t\tbefore=${COMP_WORDS[i-1]}:$before\n\t\ti=$((i - 2))\n\tdone\n"
	"\tif [ \"${COMP_WORDS[i]}\" = = ]; then\n\t\ti=$((i - 1))\n\tfi\n"
	"\tlocal prev=${COMP_WORDS[i]} names='";

static void bash(FILE *f)
{
	fputs(bash_head, f);
	all_names(f);
	fputs("'\n\tCOMPREPLY=()\n"
	      "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\tCOMPREPLY=($(compgen -W \"$names\" -- "
	      "\"$cur\"))\n"
	      "\t\treturn\n\tfi\n"
	      "\tlocal name=${COMP_WORDS[1]}\n\tcase $name in\n",
	      f);
	command_each(bash_subs, f);
	fputs("\tesac\n\tcase $name:$prev in\n", f);
	command_each(bash_help, f);
	fprintf(f,
		"\thelp:help|man:man) COMPREPLY=($(compgen -W \"$names\" -- \"$cur\")); return ;;\n"
		"\thelp:*|man:*) return ;;\n"
		"\tcompletion:*) COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n",
		shells);
	command_each(bash_values, f);
	fputs("\tesac\n\tcase $name:$cur in\n", f);
	command_each(bash_command, f);
	fputs("\t*) _heshare_files ;;\n\tesac\n}\ncomplete -F _heshare heshare\n", f);
}

static void zsh_name(const char *name, const char *summary, FILE *f)
{
	fprintf(f, "\t\t'%s:", name);
	quoted(summary, ":\\", "'\\''", f);
	fputs("'\n", f);
}

static void zsh_option(const struct opt *o, FILE *f)
{
	fputs(" \\\n\t\t\t", f);
	if (o->letter)
		fprintf(f, "'(-%c --%s%s)'{-%c,--%s}'[", o->letter, o->name, o->alone ? " : *" : "",
			o->letter, o->name);
	else
		fprintf(f, "'%s--%s[", o->alone ? "(: *)" : "", o->name);
	quoted(o->help, "[]:\\", "'\\''", f);
	fputc(']', f);
	if (o->kind != OPT_FLAG) {
		char *words = values(o);

		fprintf(f, ":%s:", o->arg ? o->arg : o->name);
		if (o->kind == OPT_FILE) {
			fputs("_files", f);
		} else if (*words) {
			fputs(o->many ? "_sequence compadd - " : "(", f);
			quoted(words, ":\\", "'\\''", f);
			fputs(o->many ? "" : ")", f);
		}
		free(words);
	}
	fputc('\'', f);
}

static void zsh_operands(const struct command *c, FILE *f)
{
	char *words = operands(c);

	if (c->takes_run)
		fputs(" \\\n\t\t\t'1:run:_heshare_runs'", f);
	if (c->offer)
		fprintf(f,
			" \\\n\t\t\t'*: :_alternative \"words\\:word\\:(%s)\" "
			"\"files\\:file\\:_files\"' ;;\n",
			words);
	else
		fprintf(f, "%s ;;\n", takes_files(c) ? " \\\n\t\t\t'*:file:_files'" : "");
	free(words);
}

static void zsh_subs(const struct command *c, FILE *f)
{
	if (!c->subs)
		return;
	fprintf(f, "\t%s)\n\t\tif (( CURRENT == 2 )); then\n\t\t\t_values action ", c->name);
	list_subs(c, f);
	fprintf(f,
		"\n\t\t\treturn\n\t\tfi\n\t\tname=\"%s $words[2]\"\n\t\tshift words\n\t\t(( "
		"CURRENT-- "
		")) ;;\n",
		c->name);
}

static void zsh_help(const struct command *c, FILE *f)
{
	if (!c->subs)
		return;
	fprintf(f, "\t\t%s) _values action ", c->name);
	list_subs(c, f);
	fputs(" ;;\n", f);
}

static void zsh_command(const struct command *c, FILE *f)
{
	char name[64];

	fprintf(f, "\t%s)\n\t\t_arguments -s -S '--help[say what it does]'", pattern(c, name));
	for (const struct opt *o = opt_shown(c->opts); o; o = opt_shown(o + 1))
		zsh_option(o, f);
	zsh_operands(c, f);
}

static void zsh(FILE *f)
{
	fputs("#compdef heshare\n_heshare_runs() {\n\tcompadd -- $(" RUNS
	      ")\n}\n_heshare() {\n\tlocal -a names=(\n",
	      f);
	for (size_t i = 0; commands[i]; i++)
		zsh_name(commands[i]->name, commands[i]->summary, f);
	for (const struct about_word *w = about_words; w->name; w++)
		zsh_name(w->name, w->summary, f);
	fputs("\t)\n"
	      "\tif (( CURRENT == 2 )); then\n\t\t_describe command names\n\t\treturn\n\tfi\n"
	      "\tlocal name=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n\tcase $name in\n",
	      f);
	command_each(zsh_subs, f);
	fputs("\tesac\n\tcase $name in\n\thelp|man) case $words[CURRENT-1] in\n"
	      "\t\thelp|man) _describe command names ;;\n",
	      f);
	command_each(zsh_help, f);
	fprintf(f, "\t\tesac ;;\n\tcompletion) _values shell %s ;;\n", shells);
	command_each(zsh_command, f);
	fputs("\tesac\n}\nif [[ $funcstack[1] == _heshare ]]; then\n\t_heshare \"$@\"\n"
	      "else\n\tcompdef _heshare heshare\nfi\n",
	      f);
}

static void fish_name(const char *name, const char *summary, FILE *f)
{
	fprintf(f, "complete -c heshare -f -n __fish_use_subcommand -a %s -d '", name);
	quoted(summary, "\\", "\\'", f);
	fputs("'\n", f);
}

/* The words of the command line begin with those of a command. */
static const char fish_head[] =
	"# fish completion of heshare\n"
	"function __heshare_runs\n\t" RUNS "\nend\n"
	"function __heshare_in\n\tset -l words (commandline -opc)\n"
	"\ttest (count $words) -gt (count $argv); "
	"and test \"$words[2..(math (count $argv) + 1)]\" = \"$argv\"\nend\n";

static void fish_option(const struct command *c, const struct opt *o, FILE *f)
{
	char *words = values(o);

	fprintf(f, "complete -c heshare -n '__heshare_in %s' -l %s", c->name, o->name);
	if (o->letter)
		fprintf(f, " -s %c", o->letter);
	if (o->kind == OPT_FILE)
		fputs(" -r -F", f);
	else if (o->kind != OPT_FLAG)
		fputs(" -x", f);
	if (*words)
		fprintf(f, o->many ? " -a '(__fish_append , %s)'" : " -a '%s'", words);
	free(words);
	fputs(" -d '", f);
	quoted(o->help, "\\", "\\'", f);
	fputs("'\n", f);
}

static void fish_command(const struct command *c, FILE *f)
{
	char *words = operands(c);

	if (c->subs) {
		fprintf(f,
			"complete -c heshare -f -n '__heshare_in %s; and test (count (commandline "
			"-opc)) -eq 2' -a '",
			c->name);
		list_subs(c, f);
		fputs("'\n", f);
	} else if (c->takes_run) {
		fprintf(f,
			"complete -c heshare -f -n '__heshare_in %s; and test (count (commandline "
			"-opc)) -eq 2' -a '(__heshare_runs)'\n",
			c->name);
	} else if (c->offer) {
		fprintf(f, "complete -c heshare -n '__heshare_in %s", c->name);
		for (const struct opt *o = opt_shown(c->opts); o; o = opt_shown(o + 1))
			if (o->alone)
				fprintf(f, "; and not __fish_contains_opt %s", o->name);
		fprintf(f, "' -a '%s'\n", words);
	} else if (!takes_files(c)) {
		fprintf(f, "complete -c heshare -f -n '__heshare_in %s'\n", c->name);
	}
	free(words);
	for (const struct opt *o = opt_shown(c->opts); o; o = opt_shown(o + 1))
		fish_option(c, o, f);
}

static void fish(FILE *f)
{
	fputs(fish_head, f);
	for (size_t i = 0; commands[i]; i++)
		fish_name(commands[i]->name, commands[i]->summary, f);
	for (const struct about_word *w = about_words; w->name; w++)
		fish_name(w->name, w->summary, f);
	fprintf(f, "complete -c heshare -f -n '__heshare_in completion' -a '%s'\n", shells);
	fputs("complete -c heshare -f -n '__heshare_in help; or __heshare_in man' -a '", f);
	all_names(f);
	fputs("'\n", f);
	command_each(fish_command, f);
}

int describe_completion(const char *shell, FILE *f)
{
	static const struct {
		const char *name;
		void (*print)(FILE *f);
	} table[] = {
		{ "bash", bash },
		{ "zsh", zsh },
		{ "fish", fish },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (strcmp(shell, table[i].name) == 0) {
			table[i].print(f);
			return 0;
		}
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
