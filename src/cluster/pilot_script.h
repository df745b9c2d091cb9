/*
 * pilot_script.h - the batch script of `heshare pilot`.
 */
#ifndef HES_CLUSTER_PILOT_SCRIPT_H
#define HES_CLUSTER_PILOT_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct pilot_opts {
	uint64_t nodes, chain;
	const char *time, *partition, *gpus, *dir, *sbatch, *policy, *prefer, *predictor, *profiles,
		*catalogue, *budget;
	double before_end_s;
	bool print, no_wait, early_ok;
};

/** Print it. Names of folders and files are absolute. @param command  of the jobs; NULL: each has
 * its own */
void pilot_script(FILE *f, const struct pilot_opts *o, const char *program, const char *here,
		  const char *jobs, const char *folder, const char *command);

#endif
