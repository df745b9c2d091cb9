/*
 * fair.h - options and words of `heshare fair`; cmd_fair.c has the table, a file fair_WORD.c each word.
 */
#ifndef HES_CLI_FAIR_H
#define HES_CLI_FAIR_H

#include <stdbool.h>
#include <stdint.h>

struct fair_opts {
	uint64_t    interval; /* 0: not given */
	double      phi;
	const char *power;    /* lists, commas between values; NULL: not given */
	const char *weight;
	const char *demand;
	const char *policy;
	bool        json;
	const char *tenant;   /* of run */
	const char *socket;
	uint64_t    clock;    /* MHz; 0: none */
};

/* A function a word of `heshare fair`. @args are the operands after the word. @return exit status */

/** Slices of an interval from numbers. */
int fair_slices(const struct fair_opts *o, int n_args, char **args);

/** Become a command whose launches an arbiter schedules. @return exit status, when it could not be started */
int fair_run(const struct fair_opts *o, int n_args, char **args);

#endif
