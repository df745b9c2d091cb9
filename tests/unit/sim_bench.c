/*
 * sim_bench.c - the simulator's test bench; see sim_bench.h.
 */
#include "sim_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char fleet_yaml[] =
	"name: test\nnodes:\n  - name: a\n    gpus: [ { type: V100-SXM2-32, count: 1 } ]\n"
	"  - name: b\n    gpus: [ { type: T4, count: 1 } ]\n";

int sim_bench_setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	assert_int_equal(hes_catalogue_load(NULL, &b->catalogue, &b->err), 0);
	assert_int_equal(hes_model_load(NULL, &b->model, &b->err), 0);
	assert_int_equal(hes_fleet_parse("test", fleet_yaml, strlen(fleet_yaml), &b->catalogue,
					 &b->fleet, &b->err),
			 0);
	assert_int_equal(hes_plan_init(&b->plan, b->fleet.n), 0);
	b->jobs.v = b->v;
	*state = b;
	return 0;
}

int sim_bench_teardown(void **state)
{
	struct bench *b = *state;

	hes_replay_free(&b->replay);
	hes_plan_finish(&b->plan);
	hes_fleet_free(&b->fleet);
	hes_model_free(b->model);
	hes_catalogue_free(&b->catalogue);
	free(b);
	return 0;
}

uint32_t add_job(struct bench *b, const char *workload, uint64_t iterations, int64_t arrival_us)
{
	struct hes_job *j = &b->v[b->jobs.n];

	*j = (struct hes_job){ .batch_size = 8,
			       .iterations = iterations,
			       .arrival_us = arrival_us,
			       .memory_mib = 4000,
			       .weight = 1 };
	snprintf(j->id, sizeof(j->id), "j%zu", b->jobs.n);
	snprintf(j->workload, sizeof(j->workload), "%s", workload);
	return (uint32_t)b->jobs.n++;
}

struct hes_batch batch_of(const struct hes_gpu_type *g, uint32_t n, const uint32_t *jobs)
{
	struct hes_batch batch = { .clock_mhz = g->clock_default_mhz, .n = n };

	for (uint32_t i = 0; i < n; i++)
		batch.jobs[i] = (struct hes_placement){ .job = jobs[i], .sm_pct = 100 / n };
	return batch;
}

void plan_batch(struct bench *b, size_t gpu, uint32_t n, const uint32_t *jobs)
{
	struct hes_batch batch = batch_of(b->fleet.gpus[gpu].type, n, jobs);

	assert_int_equal(hes_plan_append(&b->plan, gpu, &batch), 0);
}

void run_sim(struct bench *b, const struct hes_sim *s)
{
	hes_replay_free(&b->replay);
	if (hes_sim_run(s, &b->replay, &b->err))
		fail_msg("%s", b->err.msg);
}

struct hes_sim request(const struct bench *b)
{
	return (struct hes_sim){
		.model = b->model, .fleet = &b->fleet, .jobs = &b->jobs, .plan = &b->plan
	};
}
