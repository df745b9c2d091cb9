/*
 * sweep.h - `heshare simulate --sweep`: the setting of a policy that has one for all jobs, such as
 * the clocks of `static` and the power limit of `cap`, with the least energy x completion time.
 */
#ifndef HES_CLI_SIMULATE_SWEEP_H
#define HES_CLI_SIMULATE_SWEEP_H

#include "cli/simulate/job_sets.h"

#define SWEEP_POLICY "static-equal:edp-sjf" /* where none is given */

/**
 * Replay the sets, which have one policy, with each of its settings, and print what came out.
 * @return exit status: 0, or 1 or 2 with a sentence
 */
int sweep_settings(struct job_sets *s, const struct simulate_opts *o, struct hes_err *err);

#endif
