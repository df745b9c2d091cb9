/*
 * explain.h - shell completion and man pages from the command tables.
 */
#ifndef HES_CLI_EXPLAIN_H
#define HES_CLI_EXPLAIN_H

#include <stdio.h>

#include "cli/opt.h"

extern const char *const describe_shells[]; /* NULL-terminated */

/** The completion script of a shell. @return exit status; 2 for another shell */
int describe_completion(const char *shell, FILE *f);
/**
 * Print what the last of the words behind "heshare" may be, a line each, with a tab before what is
 * said of it; ":files": the name of a file. @return exit status
 */
int describe_offers(int n, char **words);
/** Page of one command, or of the program when @c is NULL. @return exit status */
int describe_man(const struct command *c, FILE *f);

#endif
