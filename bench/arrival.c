/*
 * arrival.c - how long one arriving job takes to replan: arrival JOBS FLEET PREDICTOR PROFILES
 * [ARRIVALS].
 *
 * The last ARRIVALS jobs of the file (100) arrive one by one at what the policy `exclusive` plans
 * of the others, as open queues. Prints the median, the first and the greatest time of an arrival,
 * of the clock on the wall and of the processor: the former has what other programs take of the
 * processor in it. To build: cc -std=gnu17 -D_GNU_SOURCE -O2 -Iinclude -Isrc bench/arrival.c
 * build/libheshare.a -fopenmp -lm -lz -ljansson -lcyaml -lyaml -lsqlite3 -ldl
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "plan/replan.h"

static double now_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print(const char *clock, double *took, size_t n)
{
	const double first = took[0];

	qsort(took, n, sizeof(*took), by_value);
	printf("%s: median %.2f ms, first %.2f, at most %.2f\n", clock, took[n / 2], first,
	       took[n - 1]);
}

static int stop(const struct hes_err *err)
{
	fprintf(stderr, "arrival: %s\n", err->msg);
	return 1;
}

int main(int argc, char **argv)
{
	const size_t arrivals = argc > 5 ? strtoul(argv[5], NULL, 10) : 100;
	struct hes_catalogue catalogue;
	struct hes_fleet fleet;
	struct hes_jobs jobs;
	struct hes_predictor *predictor;
	struct hes_profiles profiles;
	struct hes_plan plan;
	struct hes_replan *replan;
	struct hes_err err = {
		.msg = "arrival JOBS FLEET PREDICTOR PROFILES [ARRIVALS], at least one"
	};
	double *wall = calloc(2 * (arrivals + 1), sizeof(*wall)), *cpu = wall + arrivals + 1,
	       opened;

	if (argc < 5 || !arrivals || !wall || hes_catalogue_load(NULL, &catalogue, &err) ||
	    hes_jobs_load(argv[1], &jobs, &err) ||
	    hes_fleet_load(argv[2], &catalogue, &fleet, &err) ||
	    hes_predictor_load(argv[3], &predictor, &err) ||
	    hes_profiles_load(argv[4], &profiles, &err))
		return stop(&err);
	uint32_t *waiting = calloc(jobs.n, sizeof(*waiting));
	int64_t *free_at_us = calloc(fleet.n, sizeof(*free_at_us));
	struct hes_request r = { .fleet = &fleet,
				 .jobs = &jobs,
				 .waiting = waiting,
				 .n_waiting = jobs.n - arrivals,
				 .free_at_us = free_at_us,
				 .predictor = predictor,
				 .profiles = &profiles };

	for (size_t i = 0; i < jobs.n; i++)
		waiting[i] = (uint32_t)i;
	if (hes_policy_plan(hes_policy_find("exclusive", &err), &r, &plan, NULL, &err))
		return stop(&err);
	for (size_t g = 0; g < plan.n_gpus; g++)
		plan.queues[g].together = 4;
	opened = now_ms(CLOCK_MONOTONIC);
	if (hes_replan_open(&r, &plan, 0, &replan, &err))
		return stop(&err);
	opened = now_ms(CLOCK_MONOTONIC) - opened;
	for (size_t i = 0; i < arrivals; i++) {
		double from = now_ms(CLOCK_MONOTONIC), from_cpu = now_ms(CLOCK_THREAD_CPUTIME_ID);
		size_t gpu;

		if (hes_replan_arrive(replan, (uint32_t)(jobs.n - arrivals + i),
				      (int64_t)i * 1000000, &gpu, &err))
			return stop(&err);
		wall[i] = now_ms(CLOCK_MONOTONIC) - from;
		cpu[i] = now_ms(CLOCK_THREAD_CPUTIME_ID) - from_cpu;
	}
	printf("%zu jobs on %zu GPUs: opened in %.1f ms; %zu arrivals\n", r.n_waiting, fleet.n,
	       opened, arrivals);
	print("wall", wall, arrivals);
	print("processor", cpu, arrivals);
	return 0;
}
