/*
 * test_fair_cuda_in_lab.c - the fair scheduler on the lab's CUDA driver: kernels and functions on
 * streams, charged time by events against the physics, shares, errors of the driver.
 */
#include <dlfcn.h>
#include <math.h>

#include "fair_scheduler.h"
#include "heshare/model.h"
#include "unit_test.h"

#define IMAGE "heshare-lab workloads 1\n"
#define A100  6 /* the first one of the testbed */

/* A request: one launch of a workload; submitted again until its tenant has no more to do. */
struct request {
	struct hes_fair_kernel kernel;
	uint32_t batch, iterations;
	void *params[2];
	struct hes_fair_stream *stream;
	int again, ended, last_rc;
};

static struct {
	void *library, *context, *module;
	int (*launch)(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		      unsigned bz, unsigned bytes, void *stream, void **params, void **extra);
} cuda;

typedef void any_fn(void);

static any_fn *driver(const char *name)
{
	void *f = dlsym(cuda.library, name);
	any_fn *out;

	assert_non_null(f);
	memcpy(&out, &f, sizeof(out));
	return out;
}

#define CALL(name, types, values) (((int(*) types)driver(name))values)

static int open_driver(void **state)
{
	any_fn *f;

	(void)state;
	cuda.library = dlopen("libcuda.so.1", RTLD_NOW);
	assert_non_null(cuda.library);
	assert_int_equal(CALL("cuInit", (unsigned), (0)), 0);
	assert_int_equal(CALL("cuDevicePrimaryCtxRetain", (void **, int), (&cuda.context, A100)),
			 0);
	assert_int_equal(CALL("cuCtxPushCurrent_v2", (void *), (cuda.context)), 0);
	assert_int_equal(CALL("cuModuleLoadData", (void **, const void *), (&cuda.module, IMAGE)),
			 0);
	assert_int_equal(CALL("cuCtxPopCurrent_v2", (void **), (NULL)), 0);
	f = driver("cuLaunchKernel");
	memcpy(&cuda.launch, &f, sizeof(f));
	return 0;
}

static int close_driver(void **state)
{
	(void)state;
	CALL("cuModuleUnload", (void *), (cuda.module));
	CALL("cuDevicePrimaryCtxRelease_v2", (int), (A100));
	return 0;
}

static void request_prepare(struct request *r, const char *workload, uint32_t batch,
			    uint32_t iterations, struct hes_fair_stream *stream)
{
	void *f;

	*r = (struct request){ .batch = batch, .iterations = iterations, .stream = stream };
	assert_int_equal(CALL("cuModuleGetFunction", (void **, void *, const char *),
			      (&f, cuda.module, workload)),
			 0);
	r->params[0] = &r->batch;
	r->params[1] = &r->iterations;
	r->kernel = (struct hes_fair_kernel){
		.function = f, .grid = { 1, 1, 1 }, .block = { 1, 1, 1 }, .params = r->params
	};
}

static void request_done(void *arg, int rc);

static int request_run(void *arg, void *stream)
{
	struct request *r = arg;

	assert_non_null(stream);
	return cuda.launch(r->kernel.function, 1, 1, 1, 1, 1, 1, 0, stream, r->params, NULL) ? -EIO
											     : 0;
}

static void request_submit(struct request *r)
{
	assert_int_equal(hes_fair_stream_submit(r->stream,
						&(struct hes_fair_work){ .kernel = &r->kernel,
									 .done = request_done,
									 .arg = r },
						NULL),
			 0);
}

static void request_done(void *arg, int rc)
{
	struct request *r = arg;

	r->ended++;
	r->last_rc = rc;
	if (r->again > 0 && !rc) {
		r->again--;
		request_submit(r);
	}
}

static struct hes_fair_scheduler *create(bool manual)
{
	const struct hes_fair_cuda a100 = { .device = A100 };
	const struct hes_fair_scheduler_config c = {
		.queue = { hes_fair_policy_find("time", NULL), 0, 100, 1000000 },
		.executor = &hes_fair_cuda_executor,
		.executor_config = &a100,
		.manual = manual,
	};
	struct hes_fair_scheduler *s = NULL;

	assert_int_equal(hes_fair_scheduler_create(&c, &s, NULL), 0);
	return s;
}

static struct hes_fair_stream *stream_of(struct hes_fair_scheduler *s, double weight,
					 uint32_t *tenant)
{
	struct hes_fair_stream *st = NULL;

	assert_int_equal(
		hes_fair_scheduler_add(s, &(struct hes_fair_member){ "tenant", weight, 200, 0 },
				       tenant, NULL),
		0);
	assert_int_equal(hes_fair_stream_create(s, *tenant, &st, NULL), 0);
	return st;
}

static struct hes_fair_statistics statistics(struct hes_fair_scheduler *s, uint32_t tenant)
{
	struct hes_fair_statistics out;

	assert_int_equal(hes_fair_scheduler_statistics(s, tenant, &out, NULL), 0);
	return out;
}

/* Seconds that the physics gives an iteration alone on an A100. */
static double iteration_s(const char *workload, uint32_t batch)
{
	struct hes_catalogue c;
	struct hes_model *m;
	struct hes_rate rate;
	struct hes_instant at;
	struct hes_model_job r = { .batch = batch, .sm_pct = 100 };

	assert_int_equal(hes_catalogue_load(NULL, &c, NULL), 0);
	assert_int_equal(hes_model_load(NULL, &m, NULL), 0);
	r.workload = hes_model_workload(m, workload, NULL);
	assert_int_equal(hes_model_instant(m, hes_gpu_type_find(&c, "A100-SXM-80", NULL), 0, 0, &r,
					   1, &rate, &at, NULL),
			 0);
	hes_model_free(m);
	hes_catalogue_free(&c);
	return 1 / rate.iterations_per_s;
}

/*
 * The GPU is idle at the beginning of a turn, so its events time the item and the way to its
 * launch. The latter is next to nothing in the quickest of many turns.
 */
TEST(items_take_the_time_of_the_gpu_model)
{
	enum { TURNS = 20 };
	struct hes_fair_scheduler *s = create(true);
	struct request r;
	uint32_t a;
	double expected_ns = 4 * iteration_s("resnet50", 16) * 1e9, least_ns = 0;

	request_prepare(&r, "resnet50", 16, 4, stream_of(s, 1, &a));
	for (int k = 1; k <= TURNS; k++) {
		uint64_t before_ns = statistics(s, a).time_ns;
		double took_ns;

		request_submit(&r);
		assert_int_equal(hes_fair_scheduler_turn(s, NULL), 1);
		assert_int_equal(r.ended, k);
		assert_int_equal(statistics(s, a).items, k);
		took_ns = (double)(statistics(s, a).time_ns - before_ns);
		least_ns = k == 1 || took_ns < least_ns ? took_ns : least_ns;
	}
	assert_true(least_ns > 0.999 * expected_ns && least_ns < 1.05 * expected_ns);
	assert_true(fabs(statistics(s, a).energy_j / (200e-9 * (double)statistics(s, a).time_ns) -
			 1) < 1e-9);
	hes_fair_scheduler_destroy(s);
}

/* By charged time: how fast the machine is does not matter. */
TEST(shares_follow_the_weights)
{
	struct hes_fair_scheduler *s = create(true);
	struct request r[2];
	uint32_t tenants[2];
	double ratio;

	for (int i = 0; i < 2; i++) {
		request_prepare(&r[i], i ? "bert-large" : "resnet50", 8, 1,
				stream_of(s, i ? 1 : 2, &tenants[i]));
		r[i].again = 1000000;
		for (int k = 0; k < 8; k++)
			request_submit(&r[i]);
	}
	for (int k = 0; k < 60; k++)
		assert_int_equal(hes_fair_scheduler_turn(s, NULL), 1);
	ratio = (double)statistics(s, tenants[0]).time_ns /
		(double)statistics(s, tenants[1]).time_ns;
	assert_true(ratio > 1.8 && ratio < 2.2);
	hes_fair_scheduler_destroy(s);
	assert_int_equal(r[0].last_rc, -ECANCELED);
}

TEST(functions_get_a_stream_and_threads_can_wait)
{
	struct hes_fair_scheduler *s = create(false);
	struct hes_fair_stream *st[2];
	struct request r[2];
	uint32_t a;

	st[0] = stream_of(s, 1, &a);
	assert_int_equal(hes_fair_stream_create(s, a, &st[1], NULL), 0);
	for (int i = 0; i < 2; i++) {
		request_prepare(&r[i], "resnet50", 4, 1, st[i]);
		for (int k = 0; k < 50; k++)
			assert_int_equal(hes_fair_stream_submit(
						 st[i],
						 &(struct hes_fair_work){ .run = request_run,
									  .done = request_done,
									  .arg = &r[i] },
						 NULL),
					 0);
	}
	assert_int_equal(hes_fair_tenant_sync(s, a, NULL), 0);
	assert_int_equal(r[0].ended + r[1].ended, 100);
	hes_fair_stream_destroy(st[0]);
	hes_fair_scheduler_destroy(s);
}

TEST(a_bad_launch_is_reported_and_the_next_one_runs)
{
	struct hes_fair_scheduler *s = create(false);
	struct request good, bad;
	struct hes_err err = { 0 };
	uint32_t a;

	request_prepare(&bad, "resnet50", 0, 1, stream_of(s, 1, &a)); /* a batch of 0 */
	request_prepare(&good, "resnet50", 4, 1, bad.stream);
	request_submit(&bad);
	request_submit(&good);
	assert_int_equal(hes_fair_stream_sync(good.stream, &err), -EIO);
	assert_string_equal(err.msg, "tenant tenant: cuLaunchKernel: CUDA_ERROR_INVALID_VALUE (1)");
	assert_int_equal(bad.last_rc, -EIO);
	assert_int_equal(good.last_rc, 0);
	assert_int_equal(statistics(s, a).failed, 1);
	hes_fair_scheduler_destroy(s);
}

TEST(a_missing_device_is_refused)
{
	const struct hes_fair_cuda none = { .device = 99 };
	const struct hes_fair_scheduler_config c = {
		.queue = { hes_fair_policy_find("time", NULL), 0, 100, 1000000 },
		.executor = &hes_fair_cuda_executor,
		.executor_config = &none,
	};
	struct hes_fair_scheduler *s = NULL;
	struct hes_err err = { 0 };

	assert_int_equal(hes_fair_scheduler_create(&c, &s, &err), -ENODEV);
	assert_string_equal(err.msg, "opening the device: CUDA_ERROR_INVALID_DEVICE (101)");
	assert_null(s);
}

TEST(a_context_of_the_callers_is_used)
{
	const struct hes_fair_cuda own = { .context = cuda.context, .depth = 2 };
	const struct hes_fair_scheduler_config c = {
		.queue = { hes_fair_policy_find("time", NULL), 0, 100, 1000000 },
		.executor = &hes_fair_cuda_executor,
		.executor_config = &own,
	};
	struct hes_fair_scheduler *s = NULL;
	struct request r;
	uint32_t a;

	assert_int_equal(hes_fair_scheduler_create(&c, &s, NULL), 0);
	request_prepare(&r, "resnet50", 4, 1, stream_of(s, 1, &a));
	for (int k = 0; k < 30; k++)
		request_submit(&r);
	assert_int_equal(hes_fair_scheduler_sync(s, NULL), 0);
	assert_int_equal(r.ended, 30);
	hes_fair_scheduler_destroy(s);
}

int main(void)
{
	return run_unit_tests(open_driver, close_driver);
}
