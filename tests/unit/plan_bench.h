/*
 * plan_bench.h - two GPUs, some jobs and a predictor simple enough to compute
 * by hand, to try planners on. Its hes_predict stands in for the library's.
 */
#ifndef HES_TESTS_PLAN_BENCH_H
#define HES_TESTS_PLAN_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/problem.h"

#define MAX_TEST_JOBS 12

/** The training range that the predictor reports, and how it computes; set up again for every test.
 */
struct stand_in {
	uint32_t from_mhz;   /* clocks from here on */
	uint32_t jobs;       /* together at most */
	const char *never;   /* a workload that was not */
	uint32_t shares_pct; /* in sum */
	bool power_by_use;   /* a share that its job cannot use draws nothing */
	bool clock_free;     /* the time does not follow the clock */
	uint64_t queries;    /* so far */
};

extern struct stand_in stand_in;

/** A T4 (number 0) and an A100; jobs j0, j1, ... that arrive at 0. */
struct bench {
	struct hes_catalogue catalogue;
	struct hes_fleet fleet;
	struct hes_profiles profiles;
	struct hes_job v[MAX_TEST_JOBS];
	struct hes_jobs jobs;
	uint32_t waiting[MAX_TEST_JOBS];
	int64_t free_at_us[2];
	struct hes_request request;
	struct hes_problem p;
	struct hes_err err;
};

/**
 * "full" keeps every SM busy; "half" needs a half, of the A100 a third; "light" a fifth
 * and a tenth; "small" is "light", but was never profiled on the A100.
 */
int plan_bench_setup(void **state);
int plan_bench_teardown(void **state);

/** A job of batch size 1, in the jobs and among those that wait. */
struct hes_job *add_job(struct bench *b, const char *workload, uint64_t iterations,
			uint32_t memory_mib);
/** The start-up of a workload, before the problem is made. */
void set_start(struct bench *b, const char *workload, double start_s);
/** The problem of the jobs so far. */
void make_problem(struct bench *b);
/** Six jobs of 1000 MiB of all workloads, and their problem. */
void make_six_jobs(struct bench *b);
/** The same twice. */
void make_twelve_jobs(struct bench *b);

#endif
