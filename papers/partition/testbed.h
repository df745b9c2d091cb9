/*
 * testbed.h - the paper's 16 workloads on a modelled V100: what profiling measures of them, and
 * what is true.
 *
 * "The paper" is Han et al., "Energy-efficient GPU SM allocation". A measurement has noise; the
 * truth has none. The testbed is constant once open.
 */
#ifndef PAPERS_TESTBED_H
#define PAPERS_TESTBED_H

#include "base/rng.h"
#include "heshare/draw.h"
#include "heshare/model.h"
#include "heshare/partition.h"
#include "partition/co_run.h"

#define TESTBED_JOBS   16
#define TESTBED_SPLITS 9  /* of a pair: 10/90, 20/80, ... 90/10 */
#define TESTBED_EQUAL  4  /* index of 50/50 */
#define TESTBED_STEP   10 /* percent */

/** A row of the paper's Table 1. Uses are parts of the whole GPU. */
struct paper_job {
	const char *name;
	uint32_t batch;
	double compute, memory;
};

extern const struct paper_job
	paper_jobs[TESTBED_JOBS]; /* by falling compute use of a class, as in the paper */

/** Jobs on the GPU with their shares, measured and true. */
struct co_run_set {
	size_t n;
	size_t job[HES_PARTITION_MAX_JOBS]; /* index into paper_jobs */
	uint32_t sm_pct[HES_PARTITION_MAX_JOBS];
	double rate[HES_PARTITION_MAX_JOBS]; /* true: iterations a second */
	double power_w;                      /* true */
	double measured_rate;                /* the sum */
	double measured_power_w;
	struct hes_point rows[HES_PARTITION_MAX_JOBS]; /* measured */
};

struct co_run_sets {
	struct co_run_set *v;
	size_t n;
};

struct testbed {
	struct hes_catalogue catalogue;
	const struct hes_gpu_type *gpu;
	struct hes_model *model;
	const struct hes_workload *workload[TESTBED_JOBS];
	struct hes_draw draw;
	struct hes_points solo;             /* measured alone at 10..90 and 100 % */
	struct hes_share_profiles profiles; /* of them */
	const struct hes_share_profile *profile[TESTBED_JOBS];
	double alone_rate[TESTBED_JOBS]; /* true, on the whole GPU */
	struct co_run_sets pairs; /* [pair * TESTBED_SPLITS + split]; the first job's share rises */
	size_t n_pairs;
};

/**
 * @param workloads  YAML file of the 16 workloads
 * @param noise      coefficient of variation of a measurement
 * @param out        testbed_close it, also after a failure
 */
int testbed_open(const char *workloads, double noise, uint64_t seed, struct testbed *out,
		 struct hes_err *err);
void testbed_close(struct testbed *t);

bool testbed_fits(const struct testbed *t, const size_t *job, size_t n);
/** The truth of the set's jobs at its shares: fills rate and power_w. */
int testbed_truth(const struct testbed *t, struct co_run_set *s, struct hes_err *err);
/** Fills everything but jobs and shares. @param again  0, 1, ...: which of several measurements of
 * this set */
int testbed_measure(const struct testbed *t, struct co_run_set *s, uint64_t again,
		    struct hes_err *err);

/** Rows of all jobs alone, and of the sets that @use marks. @param use  [sets->n]; NULL: all.
 * hes_points_free @out */
int testbed_points(const struct testbed *t, const struct co_run_sets *sets, const bool *use,
		   struct hes_points *out, struct hes_err *err);
/** Train on testbed_points(). */
int testbed_train(const struct testbed *t, const struct co_run_sets *sets, const bool *use,
		  struct hes_partition_model **out, struct hes_err *err);
/** Predict a set. @return the sum of throughputs */
double testbed_predict(const struct testbed *t, const struct hes_partition_model *m,
		       const struct co_run_set *s, double *power_w);

/** Of a pair, the split with the most true throughput per watt. */
size_t testbed_best_split(const struct testbed *t, size_t pair);
/** True throughput per watt of a pair at a split. */
double testbed_per_watt(const struct testbed *t, size_t pair, size_t split);
bool testbed_pair_has(const struct testbed *t, size_t pair, size_t job);

#endif
