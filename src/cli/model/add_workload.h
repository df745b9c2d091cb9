/*
 * add_workload.h - `heshare model --add-workload`: parameters of a network that the model does not
 * know, and the error to expect.
 */
#ifndef HES_CLI_MODEL_ADD_WORKLOAD_H
#define HES_CLI_MODEL_ADD_WORKLOAD_H

#include "cli/opt.h"
#include "heshare/model.h"

/* What was given; 0, NULL: was not. */
struct add_workload_opts {
	const char *name, *arithmetic, *like, *output;
	double gflop, weights_mib, kernels, traffic_mib;
};

extern const char *const add_workload_arithmetic[];

/** The networks that --like may name. */
void offer_known_networks(opt_say_fn *say, void *ctx);

/** What is wrong with the options together; NULL: nothing. */
const char *add_workload_misuse(const struct add_workload_opts *o, const char *profiles);
bool add_workload_has_fact(const struct add_workload_opts *o);

/** Add it, print the error to expect, write it. @return the exit status */
int add_workload(struct hes_model *m, const struct hes_catalogue *c,
		 const struct add_workload_opts *o, const char *profiles, bool json);

#endif
