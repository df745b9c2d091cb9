/*
 * fair.h - the options of `heshare fair`, and a function for each of its words. cmd_fair.c has the
 * tables.
 */
#ifndef HES_CLI_FAIR_FAIR_H
#define HES_CLI_FAIR_FAIR_H

#include <stdbool.h>
#include <stdint.h>

struct fair_opts {
	const char *interval; /* of slices, quanta; of serve, a time. NULL: not given */
	double phi;
	const char *phi_given;
	const char *power; /* lists, commas between values; NULL: not given */
	const char *weight;
	const char *demand;
	const char *policy;
	bool json;
	const char *tenant;
	const char *socket;
	const char *clock; /* MHz; of profile a list. NULL: none */
	const char *gpus;
	const char *allow;
	const char *store, *catalogue;
	double patience, profile_for; /* s */
	double max_weight;
	const char *user; /* of the tenant to set; NULL: not given */
	bool no_clocks, once, list;
	const char *quantum;
};

/* A function a word of `heshare fair`. @args are the operands after the word. @return exit status
 */

/** Slices of an interval from numbers. */
int fair_slices(const struct fair_opts *o, int n_args, char **args);

/** Become a command whose launches an arbiter schedules. @return exit status, when it could not be
 * started */
int fair_run(const struct fair_opts *o, int n_args, char **args);

struct hes_err;

/** The variable that preloads the library into a command, "LD_PRELOAD=...". @return 0, then free()
 * @out; -ENOENT it is not there; -EPERM others could replace it; -EINVAL its name; -ENOMEM */
int fair_library_preload(char **out, struct hes_err *err);

/** Be the arbiter of GPUs until SIGINT or SIGTERM. */
int fair_serve(const struct fair_opts *o, int n_args, char **args);

/** Show what tenants use. */
int fair_top(const struct fair_opts *o, int n_args, char **args);

/** Change phi or a weight. */
int fair_set(const struct fair_opts *o, int n_args, char **args);

/** Measure a tenant's power at clocks, or list measured powers. */
int fair_profile(const struct fair_opts *o, int n_args, char **args);

#endif
