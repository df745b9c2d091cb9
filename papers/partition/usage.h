/*
 * usage.h - command lines of the programs of this folder: a table of options (cli/opt.h), --help,
 * errors.
 */
#ifndef PAPERS_USAGE_H
#define PAPERS_USAGE_H

#include "cli/opt.h"

/**
 * Parse the command line into @values, which the caller zeroed; operands move to the front of
 * argv[1..].
 * @param status  exit status when the program is to end: --help was given, or an error was printed
 * @return the number of operands; -1: end
 */
int usage_parse(const struct command *c, int argc, char **argv, void *values, int *status);

#endif
