/*
 * commands.c - the table of commands; see commands.h.
 */
#include "cli/commands.h"

#include <string.h>

/* In the order of the groups below. */
const struct command *const commands[] = {
	&cmd_gpus,      &cmd_trace,  &cmd_run,     &cmd_plan,     &cmd_simulate,
	&cmd_pilot,     &cmd_status, &cmd_add,     &cmd_measure,  &cmd_restore,
	&cmd_partition, &cmd_fair,   &cmd_profile, &cmd_profiles, &cmd_train,
	&cmd_predict,   &cmd_advise, &cmd_model,   NULL
};

static const struct {
	const struct command *first;
	const char *title;
} groups[] = {
	{ &cmd_gpus, "GPUs and jobs" },
	{ &cmd_run, "plan and run" },
	{ &cmd_partition, "share one GPU" },
	{ &cmd_profile, "measure and predict" },
};

const char *command_group(const struct command *c)
{
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (groups[i].first == c)
			return groups[i].title;
	return NULL;
}

const struct about_word about_words[] = {
	{ "help", "[COMMAND]", "explain a command", "" },
	{ "completion", "bash|zsh|fish", "print completion for a shell: bash, zsh or fish",
	  "make install puts it where shells find it. Else type this in a shell, or add\n"
	  "it to its start file:\n"
	  "  bash   source <(heshare completion bash)\n"
	  "  zsh    autoload -U compinit; compinit; source <(heshare completion zsh)\n"
	  "  fish   heshare completion fish | source\n" },
	{ "man", "[COMMAND]", "print the source of a manual page",
	  "Read it: heshare man plan | man -l -\n" },
	{ 0 }
};

const struct about_word *about_find(const char *name)
{
	for (const struct about_word *w = about_words; w->name; w++)
		if (strcmp(w->name, name) == 0)
			return w;
	return NULL;
}

const struct command *command_find(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

const struct command *command_sub(const struct command *c, const char *word)
{
	for (size_t i = 0; c->subs && c->subs[i]; i++)
		if (strcmp(c->subs[i]->name + strlen(c->name) + 1, word) == 0)
			return c->subs[i];
	return NULL;
}
