/*
 * partition_bench.c - jobs on the modelled V100 for tests of src/partition; see partition_bench.h.
 */
#include "partition_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

const struct bench_job bench_jobs[BENCH_JOBS] = {
	{ "bert-large", 8 },  { "resnet50", 16 }, { "mobilenet", 1 },  { "vgg16", 8 },
	{ "densenet121", 4 }, { "gpt2", 2 },      { "resnet152", 16 }, { "mobilenetv2", 32 },
};

struct partition_bench bench_of_all(double noise)
{
	struct partition_bench b;

	bench_open(&b);
	for (size_t i = 0; i < BENCH_JOBS; i++)
		bench_alone(&b, bench_jobs[i], noise);
	return b;
}

void bench_open(struct partition_bench *b)
{
	*b = (struct partition_bench){ .room = 0 };
	assert_int_equal(hes_catalogue_load(NULL, &b->c, NULL), 0);
	assert_int_equal(hes_model_load(NULL, &b->model, NULL), 0);
	b->g = hes_gpu_type_find(&b->c, BENCH_TYPE, NULL);
	assert_non_null(b->g);
}

static void forget(struct partition_bench *b)
{
	hes_partition_free(b->m);
	b->m = NULL;
	hes_share_profiles_free(&b->profiles);
}

void bench_close(struct partition_bench *b)
{
	forget(b);
	hes_points_free(&b->points);
	hes_model_free(b->model);
	hes_catalogue_free(&b->c);
}

static struct hes_model_job placed(const struct partition_bench *b, struct bench_job j,
				   uint32_t sm_pct)
{
	const struct hes_workload *w = hes_model_workload(b->model, j.workload, NULL);

	assert_non_null(w);
	return (struct hes_model_job){ w, j.batch, sm_pct };
}

void bench_together(struct partition_bench *b, const struct bench_job *jobs, const uint32_t *sm_pct,
		    size_t n, double noise)
{
	const struct hes_draw d = { .model = b->model, .noise = noise, .seed = 1 };
	struct hes_model_job r[HES_PARTITION_MAX_JOBS];

	if (b->points.n + n > b->room) {
		b->room = 2 * b->room + 64;
		b->points.v = realloc(b->points.v, b->room * sizeof(*b->points.v));
		assert_non_null(b->points.v);
	}
	for (size_t i = 0; i < n; i++)
		r[i] = placed(b, jobs[i], sm_pct[i]);
	assert_int_equal(hes_draw_point(&d, b->g, 0, r, n, b->points.v + b->points.n, NULL), 0);
	b->points.n += n;
}

void bench_alone(struct partition_bench *b, struct bench_job j, double noise)
{
	for (uint32_t share = 10; share <= 100; share += 10)
		bench_together(b, &j, &share, 1, noise);
}

void bench_truth(const struct partition_bench *b, const struct bench_job *jobs,
		 const uint32_t *sm_pct, size_t n, struct hes_partition_estimate *out)
{
	struct hes_model_job r[HES_PARTITION_MAX_JOBS] = { { .workload = NULL } };
	struct hes_rate rates[HES_PARTITION_MAX_JOBS];
	struct hes_instant now;

	for (size_t i = 0; i < n; i++)
		r[i] = placed(b, jobs[i], sm_pct[i]);
	assert_int_equal(hes_model_instant(b->model, b->g, 0, 0, r, n, rates, &now, NULL), 0);
	for (size_t i = 0; i < n; i++)
		out->rate[i] = rates[i].iterations_per_s;
	out->power_w = now.power_mw * 1e-3;
}

void bench_learn(struct partition_bench *b)
{
	struct hes_err err;

	forget(b);
	assert_int_equal(hes_share_profiles_from(&b->points, &b->c, &b->profiles, NULL), 0);
	if (hes_partition_train(&b->points, &b->profiles, &b->g, 1, &b->m, &err))
		fail_msg("%s", err.msg);
}

const struct hes_share_profile *bench_profile(const struct partition_bench *b, struct bench_job j)
{
	const struct hes_share_profile *p = hes_share_profile_find(
		&b->profiles, BENCH_TYPE, j.workload, j.batch, b->g->clock_default_mhz);

	assert_non_null(p);
	return p;
}
