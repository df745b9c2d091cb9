/*
 * auto_step.h - the steps of `heshare auto`: say what a step does and why, and run heshare itself
 * for it.
 */
#ifndef HES_CLI_AUTO_AUTO_STEP_H
#define HES_CLI_AUTO_AUTO_STEP_H

#include <stdbool.h>
#include <stddef.h>

#define AUTO_WORDS 40

/** A command of heshare: its name and what follows, without "heshare". Words are not copied. */
struct auto_command {
	const char *v[AUTO_WORDS + 2];
	size_t n;
};

/** Add a word; at most AUTO_WORDS in all. */
void auto_add(struct auto_command *c, const char *word);
/** Add an option with its value, unless the value is NULL. */
void auto_add_option(struct auto_command *c, const char *name, const char *value);

/** Let signals that ask to stop reach the command that runs: auto waits for its end. Call it once.
 */
void auto_watch(void);

/** Print what a step does and why, in one paragraph. */
__attribute__((format(printf, 1, 2))) void auto_explain(const char *format, ...);

/**
 * Print a command as it can be typed, and run it.
 * @param print_only  do not run it
 * @return its exit status; 128 + the signal that ended it, or that came for auto meanwhile; 1: it
 * could not be run
 */
int auto_run(const struct auto_command *c, bool print_only);

#endif
