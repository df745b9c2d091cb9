/*
 * partition_answer.h - the split of a GPU's SMs between jobs with the most work per watt, at the
 * best clock, next to equal shares, a given split, and jobs that take turns.
 */
#ifndef HES_APP_PARTITION_ANSWER_H
#define HES_APP_PARTITION_ANSWER_H

#include "app/partition_inputs.h"

#define PARTITION_MODELLED_BATCH 8 /* of a job whose batch size was not given, on modelled GPUs */
#define PARTITION_MODELLED_TYPE  "V100-SXM2-32" /* where none is named */

/** Lists are text: "30,70", "900,1200". Strings that are NULL: not given. */
struct partition_request {
	struct partition_from from;
	const char *catalogue;
	const char *gpu;    /* a type, or the index of a GPU of this machine */
	const char *floor;  /* "B=0.5,C=0.3", or "0.3" for all */
	const char *clocks; /* MHz, "default" or "all" */
	const char *split;  /* also judged */
	enum hes_partition_objective objective;
	uint64_t step; /* shares are multiples of it, % */
	/* of a fleet */
	const char *jobs, *fleet; /* files */
	uint64_t most, effort, seed;
};

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

/** Whether --gpu names a GPU of this machine. */
bool partition_is_index(const char *gpu);
/** Floors of jobs, from the text of the request. @param floor  [n], 0 where none is given */
int partition_floors(const char *list, const struct partition_name *jobs, size_t n, double *floor,
		     struct hes_err *err);
/** Refuse clocks, a split and floors that are wrong whatever was measured. @return 0; -EINVAL,
 * -ERANGE, -ENOENT */
int partition_check(const struct partition_request *q, const struct partition_name *jobs, size_t n,
		    struct hes_err *err);

/**
 * Load inputs, train, and search.
 * @param in, info, out  zeroed before; partition_inputs_free() and partition_answer_free() them
 * also on failure. @info is of the GPU that the request names by index, and @out points into both
 */
int partition_answer(const struct partition_request *q, const struct partition_name *jobs, size_t n,
		     struct partition_inputs *in, struct hes_device_info *info,
		     struct partition_answer *out, struct hes_err *err);
void partition_answer_free(struct partition_answer *a);

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
/** Share of work per watt by which @s is better than @than, as a fraction. */
double partition_gain(const struct hes_split *s, const struct hes_split *than);

#endif
