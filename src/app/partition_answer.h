/*
 * partition.h - the options of `heshare partition`, and its two parts: one GPU and a fleet.
 */
#ifndef HES_CLI_PARTITION_PARTITION_H
#define HES_CLI_PARTITION_PARTITION_H

#include "cli/partition/split_inputs.h"

#define PARTITION_MODELLED_BATCH 8 /* of a job whose batch size was not given, on modelled GPUs */

struct partition_opts {
	const char *gpu, *objective, *floor, *clocks, *plot, *jobs, *fleet, *most_given,
		*effort_given, *seed_given, *split, *method, *catalogue;
	const char *logs;
	double for_s;
	uint64_t step, most, effort, seed;
	bool all, json, run;
	int n_jobs; /* operands before "--"; -1: there is no "--" */
	struct partition_from from;
};

enum hes_partition_method partition_method(const struct partition_opts *o);

/** Index of a word in a list that ends with NULL. */
int partition_word(const char *word, const char *const *words);
/** Floors of jobs, from the text of --floor. @param floor  [n], 0 where none is given */
int partition_floors(const char *list, const struct partition_name *jobs, size_t n, double *floor,
		     struct hes_err *err);

/** Put jobs on the GPUs of a fleet. @return exit status */
int partition_fleet(const struct partition_opts *o);

#endif
