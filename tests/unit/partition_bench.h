/*
 * partition_bench.h - jobs on the modelled V100 for tests of src/partition: points, share profiles,
 * a model.
 */
#ifndef HES_TESTS_PARTITION_BENCH_H
#define HES_TESTS_PARTITION_BENCH_H

#include "heshare/draw.h"
#include "heshare/partition.h"

#define BENCH_TYPE "V100-SXM2-32"

struct partition_bench {
	struct hes_catalogue c;
	struct hes_model *model;
	const struct hes_gpu_type *g;
	struct hes_points points;
	size_t room;
	struct hes_share_profiles profiles;
	struct hes_partition_model *m;
};

struct bench_job {
	const char *workload;
	uint32_t batch;
};

#define BENCH_JOBS 8
extern const struct bench_job bench_jobs[BENCH_JOBS];

/** All bench_jobs alone. */
struct partition_bench bench_of_all(double noise);
void bench_open(struct partition_bench *b);
void bench_close(struct partition_bench *b);
/** Points of a job alone at 10..100 % at the default clock. */
void bench_alone(struct partition_bench *b, struct bench_job j, double noise);
/** Jobs together: rows are added to the points. */
void bench_together(struct partition_bench *b, const struct bench_job *jobs, const uint32_t *sm_pct,
		    size_t n, double noise);
/** What jobs do together on the model, without noise. */
void bench_truth(const struct partition_bench *b, const struct bench_job *jobs,
		 const uint32_t *sm_pct, size_t n, struct hes_partition_estimate *out);
/** Share profiles and a model from the points there are. */
void bench_learn(struct partition_bench *b);
const struct hes_share_profile *bench_profile(const struct partition_bench *b, struct bench_job j);

#endif
