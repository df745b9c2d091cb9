/*
 * split_search.h - the best split of one GPU between jobs that are known at every level: for one
 * GPU, and for grouping, which needs it very often.
 */
#ifndef HES_PARTITION_SPLIT_SEARCH_H
#define HES_PARTITION_SPLIT_SEARCH_H

#include "partition/type_model.h"

#define SPLIT_LEVELS 100

/** A job at every level: share = level x step. */
struct split_job {
	const struct hes_share_profile *profile;
	double alone_rate;    /* its rate alone: the divisor in floors and in all objectives but
				 throughput */
	double floor;         /* 0: none */
	uint32_t memory_mib;  /* 0: not known */
	uint32_t least, most; /* levels of the least and the greatest share that was profiled */
	struct co_job *at;    /* [100 / step + 1]; owned, free() */
};

/** @return 0 or -ENOMEM */
int split_job_init(struct split_job *j, const struct hes_share_profile *p,
		   const struct hes_gpu_type *g, uint32_t step, double floor);

struct split_problem {
	const struct type_model *m;
	const struct hes_gpu_type *g;
	double clock_mhz, base_w;
	enum hes_partition_objective objective;
	double price; /* of a watt: gain less price x power is made large; NaN: work per watt */
	uint32_t step, levels; /* levels: 100 / step */
	size_t n;
	const struct split_job *job[HES_PARTITION_MAX_JOBS];
};

/**
 * The objective as a sum over jobs: work; of a harmonic mean, which is no sum, less the sum of
 * alone_rate / rate, by which jobs take longer than alone.
 */
double split_gain(const struct split_problem *p, const struct hes_split *x);
/** As hes_partition_search(). */
int split_search(const struct split_problem *p, struct hes_splits *out, struct hes_err *err);
/**
 * A good split at a price in a few predictions: the best one without interference, with higher
 * floors where interference breaks one. Pure, no allocation.
 * @return false: no split of the step, too little memory, or no such split that keeps the floors
 */
bool split_quick(const struct split_problem *p, struct hes_split *out);

#endif
