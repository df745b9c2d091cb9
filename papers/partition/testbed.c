/*
 * testbed.c - the paper's workloads on a modelled V100; see testbed.h.
 */
#include "testbed.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "paper_model.h"

#define GPU_TYPE "V100-SXM2-32" /* the paper's, but for the socket */

const struct paper_job paper_jobs[TESTBED_JOBS] = {
	{ "fwt-samples", 1, 0.956, 0.804 },       { "reduction-samples", 1, 0.932, 0.744 },
	{ "transpose-samples", 1, 0.843, 0.680 }, { "sorting-samples", 1, 0.834, 0.625 },
	{ "gemm-samples", 1, 0.985, 0.128 },      { "albert-train", 2, 0.887, 0.318 },
	{ "bert-inf", 2, 0.874, 0.241 },          { "vit-train", 2, 0.872, 0.373 },
	{ "whisper-inf", 2, 0.871, 0.238 },       { "bert-train", 2, 0.855, 0.344 },
	{ "wav2vec2-inf", 2, 0.802, 0.252 },      { "vit-inf", 2, 0.331, 0.049 },
	{ "resnet50-train", 2, 0.151, 0.071 },    { "resnet50-inf", 2, 0.102, 0.027 },
	{ "mobile-train", 2, 0.041, 0.009 },      { "mobile-inf", 2, 0.033, 0.012 },
};

static void co_runners_of(const struct testbed *t, const struct co_run_set *s,
			  struct hes_model_job *r)
{
	for (size_t i = 0; i < s->n; i++)
		r[i] = (struct hes_model_job){ t->workload[s->job[i]], paper_jobs[s->job[i]].batch,
					       s->sm_pct[i] };
}

int testbed_truth(const struct testbed *t, struct co_run_set *s, struct hes_err *err)
{
	struct hes_model_job r[HES_PARTITION_MAX_JOBS];
	struct hes_rate rates[HES_PARTITION_MAX_JOBS];
	struct hes_instant now;
	int rc;

	co_runners_of(t, s, r);
	rc = hes_model_instant(t->model, t->gpu, 0, 0, r, s->n, rates, &now, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < s->n; i++)
		s->rate[i] = rates[i].iterations_per_s;
	s->power_w = now.power_mw * 1e-3;
	return 0;
}

int testbed_measure(const struct testbed *t, struct co_run_set *s, uint64_t again,
		    struct hes_err *err)
{
	struct hes_model_job r[HES_PARTITION_MAX_JOBS];
	struct hes_draw draw = t->draw;
	int rc = testbed_truth(t, s, err);

	draw.seed += again;
	co_runners_of(t, s, r);
	if (!rc)
		rc = hes_draw_point(&draw, t->gpu, 0, r, s->n, s->rows, err);
	if (rc)
		return rc;
	s->measured_rate = 0;
	for (size_t i = 0; i < s->n; i++)
		s->measured_rate += 1e6 / s->rows[i].iteration_us;
	s->measured_power_w = s->rows[0].power_mw * 1e-3;
	return 0;
}

bool testbed_fits(const struct testbed *t, const size_t *job, size_t n)
{
	uint64_t mib = 0;

	for (size_t i = 0; i < n; i++)
		mib += hes_workload_memory_mib(t->workload[job[i]], paper_jobs[job[i]].batch);
	return mib <= t->gpu->memory_mib;
}

static int find_workloads(struct testbed *t, const char *path, struct hes_err *err)
{
	int rc = hes_catalogue_load(NULL, &t->catalogue, err);

	if (!rc)
		rc = paper_model_load(path, &t->model, err);
	if (rc)
		return rc;
	t->gpu = hes_gpu_type_find(&t->catalogue, GPU_TYPE, err);
	if (!t->gpu)
		return -ENOENT;
	for (size_t i = 0; i < TESTBED_JOBS; i++) {
		t->workload[i] = hes_model_workload(t->model, paper_jobs[i].name, err);
		if (!t->workload[i])
			return -ENOENT;
	}
	return 0;
}

static int measure_alone(struct testbed *t, struct hes_err *err)
{
	const size_t shares = 100 / TESTBED_STEP;
	int rc = 0;

	t->solo.v = calloc(TESTBED_JOBS * shares, sizeof(*t->solo.v));
	if (!t->solo.v)
		return hes_fail(err, -ENOMEM, "out of memory for points");
	for (size_t k = 0; k < TESTBED_JOBS * shares && !rc; k++) {
		struct co_run_set s = { .n = 1,
					.job = { k / shares },
					.sm_pct = { (uint32_t)(k % shares + 1) * TESTBED_STEP } };

		rc = testbed_measure(t, &s, 0, err);
		t->solo.v[t->solo.n++] = s.rows[0];
		t->alone_rate[s.job[0]] = s.rate[0]; /* the last is the whole GPU */
	}
	if (!rc)
		rc = hes_share_profiles_from(&t->solo, &t->catalogue, &t->profiles, err);
	for (size_t i = 0; i < TESTBED_JOBS && !rc; i++) {
		t->profile[i] =
			hes_share_profile_find(&t->profiles, t->gpu->name, paper_jobs[i].name,
					       paper_jobs[i].batch, t->gpu->clock_default_mhz);
		if (!t->profile[i])
			return hes_fail(err, -ENOENT, "%s has no share profile",
					paper_jobs[i].name);
	}
	return rc;
}

/* A job with itself has each uneven split twice: they are two measurements, as in the paper. */
static int measure_pair(struct testbed *t, size_t a, size_t b, struct hes_err *err)
{
	for (uint32_t k = 0; k < TESTBED_SPLITS; k++) {
		struct co_run_set *s = &t->pairs.v[t->pairs.n++];
		uint32_t share = (k + 1) * TESTBED_STEP;
		int rc;

		*s = (struct co_run_set){ .n = 2,
					  .job = { a, b },
					  .sm_pct = { share, 100 - share } };
		rc = testbed_measure(t, s, a == b && k > TESTBED_EQUAL, err);
		if (rc)
			return rc;
	}
	t->n_pairs++;
	return 0;
}

static int measure_pairs(struct testbed *t, struct hes_err *err)
{
	t->pairs.v =
		calloc(TESTBED_JOBS * (TESTBED_JOBS + 1) / 2 * TESTBED_SPLITS, sizeof(*t->pairs.v));
	if (!t->pairs.v)
		return hes_fail(err, -ENOMEM, "out of memory for pairs");
	for (size_t a = 0; a < TESTBED_JOBS; a++)
		for (size_t b = a; b < TESTBED_JOBS; b++)
			if (testbed_fits(t, (size_t[]){ a, b }, 2) && measure_pair(t, a, b, err))
				return -EINVAL;
	return 0;
}

int testbed_open(const char *workloads, double noise, uint64_t seed, struct testbed *out,
		 struct hes_err *err)
{
	int rc;

	*out = (struct testbed){ .draw = { .noise = noise, .seed = seed } };
	rc = find_workloads(out, workloads, err);
	out->draw.model = out->model;
	if (!rc)
		rc = measure_alone(out, err);
	if (!rc)
		rc = measure_pairs(out, err);
	return rc;
}

void testbed_close(struct testbed *t)
{
	free(t->pairs.v);
	hes_share_profiles_free(&t->profiles);
	hes_points_free(&t->solo);
	hes_model_free(t->model);
	hes_catalogue_free(&t->catalogue);
}

int testbed_points(const struct testbed *t, const struct co_run_sets *sets, const bool *use,
		   struct hes_points *out, struct hes_err *err)
{
	struct hes_points p = { .n = t->solo.n };

	p.v = malloc((t->solo.n + sets->n * HES_PARTITION_MAX_JOBS) * sizeof(*p.v));
	if (!p.v)
		return hes_fail(err, -ENOMEM, "out of memory for points");
	memcpy(p.v, t->solo.v, t->solo.n * sizeof(*p.v));
	for (size_t i = 0; i < sets->n; i++)
		for (size_t k = 0; k < sets->v[i].n && (!use || use[i]); k++)
			p.v[p.n++] = sets->v[i].rows[k];
	*out = p;
	return 0;
}

int testbed_train(const struct testbed *t, const struct co_run_sets *sets, const bool *use,
		  struct hes_partition_model **out, struct hes_err *err)
{
	struct hes_points p;
	int rc = testbed_points(t, sets, use, &p, err);

	if (rc)
		return rc;
	rc = hes_partition_train(&p, &t->profiles, &t->gpu, 1, out, err);
	hes_points_free(&p);
	return rc;
}

double testbed_predict(const struct testbed *t, const struct hes_partition_model *m,
		       const struct co_run_set *s, double *power_w)
{
	const struct hes_share_profile *jobs[HES_PARTITION_MAX_JOBS];
	struct hes_partition_estimate e;
	double sum = 0;

	for (size_t i = 0; i < s->n; i++)
		jobs[i] = t->profile[s->job[i]];
	hes_partition_predict(m, t->gpu, jobs, s->n, s->sm_pct, &e);
	for (size_t i = 0; i < s->n; i++)
		sum += e.rate[i];
	*power_w = e.power_w;
	return sum;
}

double testbed_per_watt(const struct testbed *t, size_t pair, size_t split)
{
	const struct co_run_set *s = &t->pairs.v[pair * TESTBED_SPLITS + split];

	return (s->rate[0] + s->rate[1]) / s->power_w;
}

size_t testbed_best_split(const struct testbed *t, size_t pair)
{
	size_t best = 0;

	for (size_t k = 1; k < TESTBED_SPLITS; k++)
		if (testbed_per_watt(t, pair, k) > testbed_per_watt(t, pair, best))
			best = k;
	return best;
}

bool testbed_pair_has(const struct testbed *t, size_t pair, size_t job)
{
	const struct co_run_set *s = &t->pairs.v[pair * TESTBED_SPLITS];

	return s->job[0] == job || s->job[1] == job;
}
