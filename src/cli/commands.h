/*
 * commands.h - the table of commands. Each is a file cmd_NAME.c, in a folder of its group.
 *
 * To add a command: write src/cli/FOLDER/cmd_NAME.c with one struct command, declare it here, add
 * its row in commands.c and a test tests/cli/NAME.bats. Help, completion and the man page follow
 * from its table.
 */
#ifndef HES_CLI_COMMANDS_H
#define HES_CLI_COMMANDS_H

#include "cli/opt.h"

extern const struct command cmd_add;
extern const struct command cmd_fair;
extern const struct command cmd_gpus;
extern const struct command cmd_advise;
extern const struct command cmd_predict;
extern const struct command cmd_profile;
extern const struct command cmd_profiles;
extern const struct command cmd_train;
extern const struct command cmd_trace;
extern const struct command cmd_partition;
extern const struct command cmd_pilot;
extern const struct command cmd_plan;
extern const struct command cmd_run;
extern const struct command cmd_simulate;
extern const struct command cmd_status;
extern const struct command cmd_model;
extern const struct command cmd_measure;
extern const struct command cmd_restore;

extern const struct command *const commands[]; /* NULL-terminated, in the order of help */

const struct command *command_find(const char *name);
/** @return the command behind @c that a word names; NULL: none */
const struct command *command_sub(const struct command *c, const char *word);
/** @return the title of the group that begins with this command; NULL: none begins here */
const char *command_group(const struct command *c);

/** What the program tells of itself: a word in a command's place. */
struct about_word {
	const char *name, *args, *summary;
	const char *text; /* more, or "" */
};

extern const struct about_word about_words[]; /* ends with a row whose name is NULL */

const struct about_word *about_find(const char *name);

#endif
