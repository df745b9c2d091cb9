/*
 * partition_out.h - the answer of `heshare partition` as text, JSON and a picture.
 */
#ifndef HES_CLI_PARTITION_OUT_H
#define HES_CLI_PARTITION_OUT_H

#include <jansson.h>

#include "cli/partition_inputs.h"

/** The splits of all clocks that were looked at, and the best of them. */
struct partition_answer {
	const struct hes_gpu_type       *g;
	const struct hes_partition_info *model;
	const char                      *what;      /* where points come from */
	const char                      *gpu_index; /* as the user gave it; NULL: a type */
	enum hes_partition_objective     objective;
	size_t                           n;         /* jobs */
	size_t                           n_clocks;
	uint32_t                         clocks_mhz[PARTITION_CLOCKS];
	const struct hes_share_profile  *jobs[PARTITION_CLOCKS][HES_PARTITION_MAX_JOBS];
	struct hes_splits                splits[PARTITION_CLOCKS];
	size_t                           best;      /* clock */
	struct hes_split                 equal;     /* equal shares at the first clock */
};

void partition_print(const struct partition_answer *a, bool all);
json_t *partition_json(const struct partition_answer *a);
/** Draw throughput per watt of the splits as an SVG file. @return 0; -ENOENT gnuplot is missing; -errno of the file */
int  partition_plot(const char *path, const struct partition_answer *a, struct hes_err *err);

/** Share of work per watt by which @s is better than @than, as a fraction. */
double partition_gain(const struct hes_split *s, const struct hes_split *than);

#endif
