/*
 * inputs.h - load a fleet, and move arrivals to time 0.
 */
#ifndef HES_CLI_INPUTS_INPUTS_H
#define HES_CLI_INPUTS_INPUTS_H

#include "heshare/fleet.h"
#include "heshare/job.h"

/** A fleet file; @path NULL: the HeShare paper's eight GPUs. */
int  cli_fleet_load(const char *path, const struct hes_catalogue *c, struct hes_fleet *out, struct hes_err *err);

/** Let all jobs arrive at time 0; deadlines keep their distance from the arrival. */
void cli_arrive_at_once(struct hes_jobs *jobs);

#endif
