/*
 * commands.c - the table of commands; see commands.h.
 */
#include "cli/commands.h"

#include <string.h>

const struct command *const commands[] = {
	&cmd_gpus,
	&cmd_trace,
	&cmd_profile,
	&cmd_profiles,
	&cmd_train,
	&cmd_predict,
	&cmd_plan,
	&cmd_partition,
	&cmd_fair,
	&cmd_simulate,
	&cmd_run,
	&cmd_measure,
	&cmd_restore,
	&cmd_model,
	NULL
};

const struct about_word about_words[] = {
	{ "help", "[COMMAND]", "say what a command does", "" },
	{ "completion", "bash|zsh|fish", "print completion for a shell: bash, zsh or fish",
	  "make install puts it where shells look. Without that, in a shell or in the file that it starts with:\n"
	  "  bash   source <(heshare completion bash)\n"
	  "  zsh    autoload -U compinit; compinit; source <(heshare completion zsh)\n"
	  "  fish   heshare completion fish | source\n" },
	{ "man", "[COMMAND]", "print the source of a manual page", "To read it: heshare man plan | man -l -\n" },
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
