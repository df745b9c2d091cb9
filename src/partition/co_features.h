/*
 * co_features.h - co-runs as rows of numbers: the paper's nine features, and those of the
 * correction.
 */
#ifndef HES_PARTITION_CO_FEATURES_H
#define HES_PARTITION_CO_FEATURES_H

#include "partition/co_run.h"

enum {
	CO_PAPER_RATE = 9,  /* features of the paper's throughput model, */
	CO_PAPER_POWER = 7, /* ... of its power model: GPU metrics alone */
	CO_JOB = 24,        /* of the correction of one job's rate */
	CO_POWER = 12,      /* ... of the power */
	CO_FEATURES_MAX = CO_JOB
};

/** Section 3.1 and 3.2 of the paper: raw metrics summed over the jobs, percentages averaged. Power
 * takes the first CO_PAPER_POWER. */
void co_features_paper(const struct co_run *r, float out[CO_PAPER_RATE]);
/** Of job @i among the others. */
void co_features_job(const struct co_run *r, size_t i, float out[CO_JOB]);
void co_features_power(const struct co_run *r, float out[CO_POWER]);

#endif
