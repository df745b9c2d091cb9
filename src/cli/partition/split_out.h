/*
 * split_out.h - the results of `heshare partition` as text, JSON and a figure.
 */
#ifndef HES_CLI_PARTITION_SPLIT_OUT_H
#define HES_CLI_PARTITION_SPLIT_OUT_H

#include <jansson.h>
#include <stdint.h>

#include "cli/partition/split_inputs.h"

/** The splits of all clocks that were looked at, and the best of them. */
struct partition_answer {
	const struct hes_gpu_type *g;
	const struct hes_partition_info *model;
	const char *what; /* where points come from */
	const char *uuid; /* of the GPU that the user named; "": a type was named */
	enum hes_partition_objective objective;
	uint32_t step;
	size_t n; /* jobs */
	size_t n_clocks;
	uint32_t clocks_mhz[PARTITION_CLOCKS];
	const struct hes_share_profile *jobs[PARTITION_CLOCKS][HES_PARTITION_MAX_JOBS];
	struct hes_splits splits[PARTITION_CLOCKS];
	size_t best;            /* clock */
	struct hes_split equal; /* equal shares, 100 / n rounded down, at equal_mhz */
	uint32_t equal_mhz;
	struct hes_split given; /* of --split, at the best clock; power 0: none */
	struct hes_split turns; /* jobs that take turns alone on the whole GPU, at turns_mhz; power
				   0: unknown */
	uint32_t turns_mhz;
	double turns_w[HES_PARTITION_MAX_JOBS]; /* GPU power in each job's turn */
	const char *take_turns; /* why the jobs are to take turns, a sentence; NULL: they share */
	bool all_clocks;        /* --clocks all */
};

/** Rows to show of a clock: of two jobs the splits that leave less than a step free, of more the
 * best few; always the best. */
struct partition_rows {
	const struct hes_split **v; /* owned, free() */
	size_t n;
};

/** @param most  rows at most, of more than two jobs; SIZE_MAX: every split. @return 0 or -ENOMEM */
int partition_rows(const struct partition_answer *a, size_t clock, size_t most,
		   struct partition_rows *out);

/** The split to apply: that of --split, else the best one. @return NULL: the jobs are to take turns
 */
const struct hes_split *partition_chosen(const struct partition_answer *a);
/** @param script  also the commands that apply the chosen split */
int partition_print(const struct partition_answer *a, bool all, bool script, struct hes_err *err);
json_t *partition_json(const struct partition_answer *a);
/** Draw throughput per watt of the splits as an SVG file. @return 0; -ENOENT gnuplot is missing;
 * -errno of the file */
int partition_plot(const char *path, const struct partition_answer *a, struct hes_err *err);

/** Share of work per watt by which @s is better than @than, as a fraction. */
double partition_gain(const struct hes_split *s, const struct hes_split *than);

#endif
