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
	&cmd_simulate,
	&cmd_measure,
	&cmd_model,
	NULL
};

const struct command *command_find(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}
