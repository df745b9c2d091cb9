/*
 * partition.h - split the SMs of a shared GPU between jobs for the most throughput per watt,
 * from measurements of each job alone.
 *
 * The method is that of Han et al., "Energy-efficient GPU SM allocation": profile each job alone at
 * several SM shares, predict the throughput and the GPU power of every split, take the best ratio.
 * Steps: measured points (point.h) -> share profiles -> a model -> predictions, the best split,
 * groups.
 *
 * All functions are pure. A trained model is constant, so threads may share it.
 */
#ifndef HESHARE_PARTITION_H
#define HESHARE_PARTITION_H

#include <stdbool.h>

#include "heshare/fleet.h"
#include "heshare/plan.h"
#include "heshare/point.h"
#include "heshare/profile.h"

#define HES_PARTITION_MAX_JOBS HES_MAX_SHARING

/** GPU activity while a job runs alone: features of the paper. From 0 to 1; PCIe in MiB/s. */
enum hes_metric {
	HES_METRIC_SM,          /* SMs with work */
	HES_METRIC_OCCUPANCY,   /* active warps, of those possible */
	HES_METRIC_FP32,        /* FP32 pipes at work */
	HES_METRIC_DRAM,        /* memory bandwidth used */
	HES_METRIC_MEMORY_BUSY, /* time with memory traffic */
	HES_METRIC_PCIE_TX,     /* MiB/s */
	HES_METRIC_PCIE_RX,
	HES_METRICS
};

/** A job alone with a share of the SMs. */
struct hes_share_point {
	double sm_pct;
	double rate;                /* iterations a second */
	double power_w;             /* mean GPU power, idle power included */
	double metric[HES_METRICS]; /* NaN: not measured */
};

/** A job alone at several shares, on one GPU type at one clock. */
struct hes_share_profile {
	char workload[HES_NAME_MAX];
	char gpu_type[HES_NAME_MAX];
	uint32_t batch_size;
	uint32_t clock_mhz;
	uint32_t memory_mib; /* 0: not measured */
	double alone_rate;   /* on the whole GPU at the type's default clock; NaN: not measured */
	double fixed_s; /* part of an iteration that does not depend on the share: the fit of fixed
			   + work / share */
	char command[HES_POINT_COMMAND];
	struct hes_share_point *at; /* by rising share; [n] */
	size_t n;
};

/** Sorted by GPU type, workload, batch size, clock. */
struct hes_share_profiles {
	struct hes_share_profile *v;
	size_t n;
};

/**
 * Share profiles of all jobs that were measured alone at two or more shares. Of two points with the
 * same setting, the later one counts.
 * @param p   points; rows of jobs that share a GPU, and of GPU types that @c lacks, are skipped
 * @param out written on success only; hes_share_profiles_free it
 * @return 0 or -ENOMEM
 */
int hes_share_profiles_from(const struct hes_points *p, const struct hes_catalogue *c,
			    struct hes_share_profiles *out, struct hes_err *err);
void hes_share_profiles_free(struct hes_share_profiles *p);
/** @return NULL: there is none */
const struct hes_share_profile *hes_share_profile_find(const struct hes_share_profiles *p,
						       const char *gpu_type, const char *workload,
						       uint32_t batch_size, uint32_t clock_mhz);
/** The job at a share between its least and its largest one, by linear interpolation; clamped to
 * them. */
void hes_share_profile_at(const struct hes_share_profile *p, double sm_pct,
			  struct hes_share_point *out);

struct hes_partition_model;

/** The data of a model, and its errors on data that it did not see. Errors are fractions; NaN: not
 * known. */
struct hes_partition_info {
	size_t sets; /* co-run sets with shares and clock that were measured */
	bool learnt; /* trees were trained on them; false: too few, they only move constants of the
			closed form */
	bool unseen; /* errors are on combinations of jobs that were held back; false: on other
			splits of known combinations */
	double rate_error;  /* mean |predicted / measured - 1| of the sum of throughputs */
	double power_error; /* ... of GPU power */
	double coverage;    /* intended coverage of the interval */
	double low, high; /* the interval of throughput per watt, as factors of the prediction; NaN:
			     not learnt */
};

/**
 * Train on jobs that were measured together and alone: a closed form for each job, corrected by
 * boosted trees where jobs were measured together. Each GPU type has trees of its own.
 * @param p      points; co-run sets with a job without share profile are skipped
 * @param types  GPU types to train for; they must outlive the model
 * @return 0; -ENOMEM
 */
int hes_partition_train(const struct hes_points *p, const struct hes_share_profiles *solo,
			const struct hes_gpu_type *const *types, size_t n_types,
			struct hes_partition_model **out, struct hes_err *err);
void hes_partition_free(struct hes_partition_model *m);
/** @return NULL: @m was not trained for @g */
const struct hes_partition_info *hes_partition_about(const struct hes_partition_model *m,
						     const struct hes_gpu_type *g);

/** Jobs on one GPU with shares, as predicted. */
struct hes_partition_estimate {
	double rate[HES_PARTITION_MAX_JOBS]; /* iterations a second of each job */
	double power_w;                      /* GPU power */
};

/**
 * Predict jobs that share a GPU. Pure, no allocation. A share outside of the profiled range counts
 * as its nearest end.
 * @param g      a type that @m was trained for
 * @param jobs   share profiles of one GPU type at one clock; [n]
 * @param n      1..HES_PARTITION_MAX_JOBS
 * @param sm_pct [n]
 */
void hes_partition_predict(const struct hes_partition_model *m, const struct hes_gpu_type *g,
			   const struct hes_share_profile *const *jobs, size_t n,
			   const uint32_t *sm_pct, struct hes_partition_estimate *out);

/** What a split maximises for each watt. */
enum hes_partition_objective {
	HES_PARTITION_SUM,        /* the sum of iterations a second: the paper's */
	HES_PARTITION_NORMALIZED, /* the sum of each job's throughput, as a part of its own alone on
				     the whole GPU */
	HES_PARTITION_ENERGY,     /* the harmonic mean of these parts times their number: no job is
				     starved */
};

extern const char
	*const hes_partition_objectives[]; /* by enum hes_partition_objective; ends with NULL */

/** The numerator of an objective.
 * @param alone  of each job, iterations a second alone; not read for HES_PARTITION_SUM */
double hes_partition_work(enum hes_partition_objective objective, const double *rate,
			  const double *alone, size_t n);

struct hes_partition_goal {
	enum hes_partition_objective objective;
	uint32_t step;                        /* shares are multiples of it: 1..50, %; default 10 */
	double floor[HES_PARTITION_MAX_JOBS]; /* throughput that a job must keep, as a part of its
						 throughput alone; 0: none */
};

/** A split with its prediction. */
struct hes_split {
	uint32_t sm_pct[HES_PARTITION_MAX_JOBS];
	struct hes_partition_estimate estimate;
	double work;     /* numerator of the objective: iterations a second, or work in units of one
			    whole GPU */
	double per_watt; /* work / GPU power */
	double low, high; /* the interval of per_watt that holds 90 %, as factors of it */
	bool allowed;     /* keeps every floor */
};

/** Predicted splits, by falling share of the first job, then of the second, and so on. */
struct hes_splits {
	struct hes_split *v;
	size_t n;
	size_t best; /* index of the allowed one with the most work per watt */
};

/**
 * Predict and judge one split.
 * @param m, g, jobs, n, sm_pct  as hes_partition_predict()'s; the shares may sum to 100 % at most
 * @return 0; -EINVAL a floor or the sum out of range; -ERANGE a share outside of those profiled;
 * -ENOSPC, -ENODATA as hes_partition_search()
 */
int hes_partition_judge(const struct hes_partition_model *m, const struct hes_gpu_type *g,
			const struct hes_share_profile *const *jobs, size_t n,
			const struct hes_partition_goal *goal, const uint32_t *sm_pct,
			struct hes_split *out, struct hes_err *err);

/**
 * The best split at one clock, with shares inside of the profiled range that sum to 100 % or less.
 *
 * For two jobs, every split is tried. For more jobs, dynamic programming that ignores interference
 * gives starting points, and so do equal shares. From each, shares move between jobs step by step
 * while that helps. @out has all splits that were tried.
 * @param m, g, jobs, n  as hes_partition_predict()'s
 * @param out  written on success only; hes_splits_free it
 * @return 0; -EINVAL a step or floor out of range, or more jobs than steps; -ENOSPC too little GPU
 * memory; -ERANGE floors that no split keeps, with the highest that is possible; -ENODATA a
 * normalized objective without alone_rate; -ENOMEM
 */
int hes_partition_search(const struct hes_partition_model *m, const struct hes_gpu_type *g,
			 const struct hes_share_profile *const *jobs, size_t n,
			 const struct hes_partition_goal *goal, struct hes_splits *out,
			 struct hes_err *err);
void hes_splits_free(struct hes_splits *s);

/** Jobs to be put on the GPUs of a fleet. */
struct hes_partition_jobs {
	const struct hes_fleet *fleet;
	size_t n; /* jobs */
	const struct hes_share_profile *const
		*profiles; /* job by job, one for each of hes_fleet_types(); NULL: cannot run there
			    */
	const double *floor;        /* [n]; NULL: none */
	const uint32_t *memory_mib; /* [n], least memory of each job; NULL: as in the profiles */
	enum hes_partition_objective objective;
	uint32_t step; /* as in hes_partition_goal */
	uint32_t most; /* jobs on one GPU at a time, 1..HES_PARTITION_MAX_JOBS */
	uint64_t seed;
	uint64_t effort; /* groups to try; 0: 50000, plus 700 for each job */
	void (*progress)(void *ctx, uint64_t done, uint64_t of); /* may be NULL */
	void *ctx;
};

/** Jobs that share a GPU. */
struct hes_partition_group {
	uint32_t gpu;  /* index into the fleet */
	uint32_t wave; /* from 0: groups of a wave run at the same time */
	uint32_t n;    /* jobs; 0: the GPU is idle in this wave */
	uint32_t job[HES_PARTITION_MAX_JOBS];
	struct hes_split split; /* shares in the order of @job; for an idle GPU only its power */
};

struct hes_partition_groups {
	struct hes_partition_group *v; /* waves x GPUs, by wave, then by GPU */
	size_t n;
	uint32_t waves;
	double work, power_w; /* means over the waves, of the whole fleet, idle GPUs included */
	double per_watt;      /* what grouping maximises: work / power */
};

/**
 * Choose which jobs share a GPU, on which GPU and with which split, for the most work per watt of
 * the whole fleet.
 *
 * The harmonic mean of HES_PARTITION_ENERGY is over all jobs. Every job runs, in several waves if
 * memory, floors or
 * @most do not allow all jobs at the same time. A job's normalized throughput and floor
 * are relative to its throughput alone on the type of the fleet that is fastest for it. The result
 * is not worse than assigning jobs to GPUs in their order, if they fit.
 * @param m    trained for the types of the fleet
 * @return 0; -EINVAL a number out of range; -ENODATA as hes_partition_search(); -ENOSPC a job that
 * no GPU can run alone; -ENOMEM
 */
int hes_partition_group(const struct hes_partition_model *m, const struct hes_partition_jobs *p,
			struct hes_partition_groups *out, struct hes_err *err);
void hes_partition_groups_free(struct hes_partition_groups *g);

#endif
