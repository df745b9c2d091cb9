/*
 * describe.h - print the command tables as shell completion and man pages.
 */
#ifndef HES_CLI_DESCRIBE_H
#define HES_CLI_DESCRIBE_H

#include <stdio.h>

#include "cli/opt.h"

/** @param shell "bash", "zsh" or "fish". @return exit status; 2 for another shell */
int describe_completion(const char *shell, FILE *f);
/** Page of one command, or of the program when @c is NULL. @return exit status */
int describe_man(const struct command *c, FILE *f);

#endif
