/*
 * sim_bench.h - two GPUs, jobs and a plan to try the simulator on.
 */
#ifndef HES_TESTS_SIM_BENCH_H
#define HES_TESTS_SIM_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "heshare/sim.h"

#define MAX_TEST_JOBS 64

/** GPU 0 is a V100, called a/0, GPU 1 a T4, called b/0. */
struct bench {
	struct hes_catalogue catalogue;
	struct hes_model *model;
	struct hes_fleet fleet;
	struct hes_job v[MAX_TEST_JOBS];
	struct hes_jobs jobs;
	struct hes_plan plan;
	struct hes_replay replay;
	struct hes_err err;
};

int sim_bench_setup(void **state);
int sim_bench_teardown(void **state);

/** A job of batch size 8 and 4000 MiB, called j0, j1, ... @return its index */
uint32_t add_job(struct bench *b, const char *workload, uint64_t iterations, int64_t arrival_us);
/** Jobs at the type's default clock, shares equal, predictions zero. */
struct hes_batch batch_of(const struct hes_gpu_type *g, uint32_t n, const uint32_t *jobs);
/** Append such a batch to the bench's plan. */
void plan_batch(struct bench *b, size_t gpu, uint32_t n, const uint32_t *jobs);
/** The bench's plan, no noise. */
struct hes_sim request(const struct bench *b);
/** Run into the bench's replay; the test fails when that fails. */
void run_sim(struct bench *b, const struct hes_sim *s);

#endif
