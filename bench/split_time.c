/*
 * split_time.c - how long a split takes to predict and to find: split_time. One JSON line a figure.
 *
 * Jobs of the modelled V100, a model with trees from 240 co-runs. bench/partition builds and runs
 * it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "heshare/draw.h"
#include "heshare/partition.h"

#define REPEATS 400
#define JOBS    8

static const struct {
	const char *workload;
	uint32_t batch;
} jobs[JOBS] = {
	{ "bert-large", 8 },  { "resnet50", 16 }, { "mobilenet", 1 },  { "vgg16", 8 },
	{ "densenet121", 4 }, { "gpt2", 2 },      { "resnet152", 16 }, { "mobilenetv2", 32 },
};

static void die(const struct hes_err *err)
{
	fprintf(stderr, "split_time: %s\n", err->msg);
	exit(1);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void print(const char *what, double *us)
{
	qsort(us, REPEATS, sizeof(*us), by_value);
	printf("{\"what\": \"%s\", \"median_us\": %.1f, \"min_us\": %.1f, \"n\": %d}\n", what,
	       us[REPEATS / 2], us[0], REPEATS);
}

static size_t draw(const struct hes_draw *d, const struct hes_gpu_type *g, const size_t *job,
		   const uint32_t *share, size_t n, struct hes_point *out)
{
	struct hes_model_job r[HES_PARTITION_MAX_JOBS];
	struct hes_err err;

	for (size_t i = 0; i < n; i++)
		r[i] = (struct hes_model_job){ hes_model_workload(d->model, jobs[job[i]].workload,
								  NULL),
					       jobs[job[i]].batch, share[i] };
	if (hes_draw_point(d, g, 0, r, n, out, &err))
		die(&err);
	return n;
}

int main(void)
{
	struct hes_catalogue c;
	struct hes_model *model;
	struct hes_points p = { .v = calloc(4096, sizeof(struct hes_point)) };
	struct hes_share_profiles solo;
	struct hes_partition_model *m;
	struct hes_err err;
	double predict[REPEATS], pair[REPEATS], four[REPEATS];

	if (hes_catalogue_load(NULL, &c, &err) || hes_model_load(NULL, &model, &err))
		die(&err);
	const struct hes_gpu_type *g = hes_gpu_type_find(&c, "V100-SXM2-32", &err);
	const struct hes_draw d = { .model = model, .noise = 0.017, .seed = 1 };

	for (size_t i = 0; i < JOBS; i++) {
		for (uint32_t share = 10; share <= 100; share += 10)
			p.n += draw(&d, g, &i, &share, 1, p.v + p.n);
		for (size_t k = 0; k < i; k++)
			for (uint32_t share = 10; share < 100; share += 10)
				p.n += draw(&d, g, (size_t[]){ i, k },
					    (uint32_t[]){ share, 100 - share }, 2, p.v + p.n);
	}
	if (hes_share_profiles_from(&p, &c, &solo, &err) ||
	    hes_partition_train(&p, &solo, &g, 1, &m, &err))
		die(&err);
	for (size_t k = 0; k < REPEATS; k++) {
		const struct hes_share_profile *four_jobs[4];
		struct hes_partition_goal goal = { .objective =
							   (enum hes_partition_objective)(k % 3) };
		struct hes_partition_estimate e;
		struct hes_splits s;
		double start;

		for (size_t i = 0; i < 4; i++) {
			size_t j = (k * 5 + i * 3) % JOBS;

			four_jobs[i] = hes_share_profile_find(&solo, g->name, jobs[j].workload,
							      jobs[j].batch, g->clock_default_mhz);
		}
		start = now_us();
		hes_partition_predict(m, g, four_jobs, 2, (uint32_t[]){ 30, 70 }, &e);
		predict[k] = now_us() - start;
		start = now_us();
		if (hes_partition_search(m, g, four_jobs, 2, &goal, &s, &err))
			die(&err);
		pair[k] = now_us() - start;
		hes_splits_free(&s);
		goal.step = 5;
		start = now_us();
		if (hes_partition_search(m, g, four_jobs, 4, &goal, &s, &err))
			die(&err);
		four[k] = now_us() - start;
		hes_splits_free(&s);
	}
	print("one split of a pair predicted", predict);
	print("a pair: all 45 splits in tens", pair);
	print("four jobs in steps of 5: the best split", four);
	hes_partition_free(m);
	hes_share_profiles_free(&solo);
	hes_points_free(&p);
	hes_model_free(model);
	hes_catalogue_free(&c);
	return 0;
}
