/*
 * terminal.h - the terminal behind the output: its width, what it can do, and lines that are too
 * long for it.
 */
#ifndef HES_CLI_TERMINAL_H
#define HES_CLI_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/** @return the columns of standard output's terminal, at least 40; INT_MAX: it is a file or a pipe
 */
int terminal_width(void);
/** The same for tables and help: without a terminal the environment's COLUMNS, or 80. */
int terminal_table_width(void);

/** @return whether @fd is a terminal on which lines can be written over: not with TERM=dumb */
bool terminal_is_live(int fd);

/** @return whether @fd is a terminal that may get colours and bold: not with NO_COLOR in the
 * environment, nor TERM=dumb */
bool terminal_is_styled(int fd);

/**
 * Print words on lines of at most @width columns.
 * @param at      columns of the first line that are taken
 * @param indent  blanks before each further line
 */
void terminal_wrap(FILE *f, const char *text, int at, int indent, int width);

struct terminal_page;

/**
 * Wrap what is printed to stdout from now on to the width of its terminal, between words; further
 * lines of a table's row are indented. A line appears when it is complete.
 * @return NULL: there is no terminal, or no memory; nothing changes
 */
struct terminal_page *terminal_fit(void);
/** Print the rest and leave stdout as it was. @p may be NULL. */
void terminal_finish(struct terminal_page *p);

#endif
