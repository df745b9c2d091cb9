/*
 * cli.h - report errors, print JSON and progress: what all commands share.
 */
#ifndef HES_CLI_CLI_H
#define HES_CLI_CLI_H

#include <jansson.h>
#include <stdbool.h>

#include "app/app.h"
#include "base/quantity.h"
#include "heshare/err.h"
#include "heshare/fleet.h"
#include "report/table.h"

/** What src/app takes from this program: its environment, and cli_say() for sentences. */
const struct app *cli_app(void);
/** Name the command that runs, for cli_app(). */
void cli_app_begin(const char *command);

/** Print "heshare COMMAND: sentence" on stderr, with what cannot be shown as \xNN. */
void cli_say(const char *command, const char *sentence);
/**
 * The same of an error. @return the exit status: 2 if the sentence begins with an option, "--batch:
 * 0 is ...", and its code is of a wrong value: that is wrong usage; else 1
 */
int cli_fail(const char *command, const struct hes_err *err);

#define CLI_MAX_ARGS 4096 /* operands of a command that takes a command */

#define CLI_READER_GONE 141 /* exit status of a program that SIGPIPE ended, as shells tell it */

/** Whether standard output is a pipe without a reader: no reason for a sentence. */
bool cli_reader_gone(void);

/** A number, or null where it is not known. */
json_t *cli_json_maybe(bool known, double value);

/** Print the members of an object as a JSON document on stdout, and drop the reference.
 * @param format  "heshare-gpus" @return exit status */
int cli_print_json(const char *format, json_t *members);

/** Print a table as wide as the terminal; without one, in COLUMNS or 80 columns. */
void cli_print_table(struct table *t, FILE *f, int indent);
/** A command's only table, as text or as a JSON document with @rows as the name of its list.
 * @return exit status */
int cli_table_out(struct table *t, const char *format, const char *rows, bool json);

/** A time for progress: "9 s", "3 h 52 min". @return @out */
const char *cli_rough_time(char out[HES_QUANTITY_MAX], double us);

/**
 * Tell progress and the time left on stderr: only when it is a terminal, at most ten times a
 * second. done == total ends the line. Time counts from the first call, or from the first after the
 * end. Safe to call from one thread at a time.
 */
void cli_progress(const char *what, uint64_t done, uint64_t total);

#endif
