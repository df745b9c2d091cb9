/*
 * co_run.h - jobs on one GPU with their shares, as a model of src/partition sees them; sets of jobs
 * that were measured together.
 *
 * Inside of src/partition. A co_run holds each job alone at its share, and the closed form's rates
 * and power of all jobs together, which a model corrects.
 */
#ifndef HES_PARTITION_CO_RUN_H
#define HES_PARTITION_CO_RUN_H

#include "heshare/partition.h"

struct co_job {
	struct hes_share_point alone; /* at its share; metrics that were not measured are NaN */
	double fixed;                 /* part of its time that more SMs would not shorten, 0..1 */
	double copying;               /* part of its time that it copies over PCIe, 0..1 */
	uint64_t who;                 /* hash of workload and batch size */
};

/** Constants of the closed form that differ between GPU types. */
enum {
	CO_MEMORY, /* slowdown of a job that waits for memory all the time by co-runners that use
		      all of L2 and memory */
	CO_POWER_MORE, /* logarithm of GPU power of co-runs over what the jobs' powers sum to */
	CO_CONSTANTS
};

struct co_run {
	const struct hes_gpu_type *g;
	double clock_mhz;
	double base_w; /* GPU power with jobs that do nothing */
	double constant[CO_CONSTANTS];
	size_t n;
	struct co_job job[HES_PARTITION_MAX_JOBS];
	/* The closed form. */
	double rate[HES_PARTITION_MAX_JOBS];
	double power_w;
	double wanted_w; /* power if there were no limit */
};

/** Jobs that were measured together. */
struct co_set {
	const struct hes_gpu_type *g;
	const struct hes_share_profile *jobs[HES_PARTITION_MAX_JOBS];
	uint32_t sm_pct[HES_PARTITION_MAX_JOBS];
	double rate[HES_PARTITION_MAX_JOBS];
	double power_w;
	size_t n;
};

struct co_sets {
	struct co_set *v;
	size_t n;
};

/**
 * Sets of rows that share a GPU of one type, each job with its share profile; others are passed
 * over. Of several rows of one job in one set, means.
 * @return 0 or -ENOMEM
 */
int co_sets_from(const struct hes_points *p, const struct hes_share_profiles *solo,
		 const struct hes_gpu_type *g, struct co_sets *out, struct hes_err *err);

/**
 * Power of a GPU that holds jobs which do nothing, at a clock: where straight lines of power over
 * throughput, one slope a job, meet throughput 0 (least squares over all profiles). Between idle
 * power and the least that was measured.
 */
double co_base_w(const struct hes_share_profiles *solo, const struct hes_gpu_type *g,
		 uint32_t clock_mhz);

/** A job alone at a share of a GPU. */
void co_job_at(const struct hes_share_profile *p, const struct hes_gpu_type *g, double sm_pct,
	       struct co_job *out);
/** The same number for the same jobs, whatever their shares and order. */
uint64_t co_run_who(const struct co_run *r);
/** The closed form: fills rate, power_w and wanted_w from the rest. Pure. */
void co_run_compose(struct co_run *r);

/** Numbers that corrections are learnt from: of one job's rate, and of the power. */
enum { CO_JOB = 24, CO_POWER = 12 };

/** Of job @i among the others. */
void co_features_job(const struct co_run *r, size_t i, float out[CO_JOB]);
void co_features_power(const struct co_run *r, float out[CO_POWER]);

#endif
