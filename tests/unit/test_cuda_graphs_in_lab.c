/*
 * test_cuda_graphs_in_lab.c - the lab's libcuda: streams, capture, graphs, copies, host functions,
 * small kernels. Run inside the lab at a low speed (tests/meson.build), so that work still runs
 * when the next call comes.
 */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>

#include "unit_test.h"

#define BENCH_TEST(test) TEST_ON(struct bench, t, test, setup, teardown)

#define LEGACY     ((void *)1)
#define PER_THREAD ((void *)2)
#define WORDS      256

enum { GLOBAL, THREAD_LOCAL, RELAXED };
enum { NONE, ACTIVE, INVALIDATED };
enum {
	NOT_READY = 600,
	UNSUPPORTED = 900,
	INVALID = 901,
	MERGE,
	UNMATCHED,
	UNJOINED,
	ISOLATION,
	IMPLICIT,
	CAPTURED,
	WRONG_THREAD
};

struct config {
	unsigned gx, gy, gz, bx, by, bz, shared_bytes;
	void *stream, *attributes;
	unsigned n_attributes;
};

/* clang-format off */
#define DRIVER(F) \
	F(cuInit, (unsigned)) F(cuCtxCreate_v2, (void **, unsigned, int)) \
	F(cuCtxDestroy_v2, (void *)) \
	F(cuCtxSetCurrent, (void *)) F(cuCtxSynchronize, (void)) \
	F(cuModuleLoadData, (void **, const void *)) F(cuModuleUnload, (void *)) \
	F(cuModuleGetFunction, (void **, void *, const char *)) \
	F(cuLaunchKernel, \
	      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
	      void *, void **, void **)) \
	F(cuLaunchKernel_ptsz, \
	      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
	      void *, void **, \
		void **)) \
	F(cuLaunchKernelEx, (const struct config *, void *, void **, void **)) \
	F(cuLaunchCooperativeKernel, \
	      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
	      void *, \
		void **)) \
	F(cuLaunchHostFunc, (void *, void (*)(void *), void *)) \
	F(cuMemAlloc_v2, (uintptr_t *, size_t)) F(cuMemFree_v2, (uintptr_t)) \
	F(cuMemcpy, (uintptr_t, uintptr_t, size_t)) \
	F(cuMemcpyHtoD_v2, (uintptr_t, const void *, size_t)) \
	F(cuMemcpyDtoH_v2, (void *, uintptr_t, size_t)) \
	F(cuMemcpyHtoDAsync_v2, (uintptr_t, const void *, size_t, void *)) \
	F(cuMemcpyDtoHAsync_v2, (void *, uintptr_t, size_t, void *)) \
	F(cuMemcpyDtoDAsync_v2, (uintptr_t, uintptr_t, size_t, void *)) \
	F(cuMemcpyAsync, (uintptr_t, uintptr_t, size_t, void *)) \
	F(cuMemsetD8_v2, (uintptr_t, unsigned char, size_t)) \
	F(cuMemsetD32_v2, (uintptr_t, unsigned, size_t)) \
	F(cuMemsetD8Async, (uintptr_t, unsigned char, size_t, void *)) \
	F(cuMemsetD32Async, (uintptr_t, unsigned, size_t, void *)) \
	F(cuStreamCreate, (void **, unsigned)) F(cuStreamDestroy_v2, (void *)) \
	F(cuStreamSynchronize, (void *)) \
	F(cuStreamQuery, (void *)) F(cuStreamQuery_ptsz, (void *)) \
	F(cuStreamWaitEvent, (void *, void *, unsigned)) \
	F(cuEventCreate, (void **, unsigned)) F(cuEventDestroy_v2, (void *)) \
	F(cuEventRecord, (void *, void *)) \
	F(cuEventQuery, (void *)) F(cuEventSynchronize, (void *)) \
	F(cuEventElapsedTime, (float *, void *, void *)) \
	F(cuStreamBeginCapture_v2, (void *, int)) F(cuStreamEndCapture, (void *, void **)) \
	F(cuStreamIsCapturing, (void *, int *)) \
	F(cuStreamGetCaptureInfo_v2, (void *, int *, uint64_t *, void **, void *, size_t *)) \
	F(cuThreadExchangeStreamCaptureMode, (int *)) F(cuGraphCreate, (void **, unsigned)) \
	F(cuGraphDestroy, (void *)) \
	F(cuGraphInstantiateWithFlags, (void **, void *, uint64_t)) \
	F(cuGraphLaunch, (void *, void *)) \
	F(cuGraphInstantiate_v2, (void **, void *, void *, char *, size_t)) \
	F(cuGraphExecDestroy, (void *)) \
	F(cuGetProcAddress, (const char *, void **, int, uint64_t)) \
	F(cuGetProcAddress_v2, (const char *, void **, int, uint64_t, int *)) \
	F(cuGetErrorName, (int, const char **))
/* clang-format on */

#define POINTER(name, types) static int(*name) types;
#define LOAD(name, types)    load(#name, &name, sizeof(name));
#define OK(call)             assert_int_equal(call, 0)
#define FAILS(call, code)    assert_int_equal(call, code)

DRIVER(POINTER)

static void *lib;

static void load(const char *name, void *to, size_t bytes)
{
	void *f = dlsym(lib, name);

	if (!f)
		fail_msg("libcuda has no %s", name);
	memcpy(to, &f, bytes);
}

static int init(void **state)
{
	(void)state;
	lib = dlopen("libcuda.so.1", RTLD_NOW);
	if (!lib)
		return -1;
	DRIVER(LOAD)
	return cuInit(0);
}

static int done(void **state)
{
	(void)state;
	return dlclose(lib);
}

/* A context with streams of each kind, two events, two buffers. */
struct bench {
	void *context, *module, *noop, *spin, *fill, *axpy, *hash;
	void *a, *b, *free; /* streams; the last does not wait for the legacy stream */
	void *e, *e2;
	uintptr_t x, y;
};

static int setup(void **state)
{
	struct bench *t = calloc(1, sizeof(*t));

	*state = t;
	return !t || cuCtxCreate_v2(&t->context, 0, 6) ||
	       cuModuleLoadData(&t->module, "heshare-lab workloads 1\n") ||
	       cuModuleGetFunction(&t->noop, t->module, "lab.noop") ||
	       cuModuleGetFunction(&t->spin, t->module, "lab.spin") ||
	       cuModuleGetFunction(&t->fill, t->module, "lab.fill") ||
	       cuModuleGetFunction(&t->axpy, t->module, "lab.axpy") ||
	       cuModuleGetFunction(&t->hash, t->module, "lab.hash") || cuStreamCreate(&t->a, 0) ||
	       cuStreamCreate(&t->b, 0) || cuStreamCreate(&t->free, 1) || cuEventCreate(&t->e, 0) ||
	       cuEventCreate(&t->e2, 0) || cuMemAlloc_v2(&t->x, WORDS * 4) ||
	       cuMemAlloc_v2(&t->y, WORDS * 4);
}

static int teardown(void **state)
{
	struct bench *t = *state;
	int rc = cuCtxDestroy_v2(t->context);

	free(t);
	return rc;
}

static int spin(struct bench *t, void *stream, uint32_t us)
{
	return cuLaunchKernel(t->spin, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){ &us }, NULL);
}

static int fill(struct bench *t, void *stream, uintptr_t at, uint32_t value)
{
	uint32_t n = WORDS;

	return cuLaunchKernel(t->fill, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){ &at, &n, &value },
			      NULL);
}

static int axpy(struct bench *t, void *stream, uintptr_t y, uintptr_t x, uint32_t a)
{
	struct config how = { 1, 1, 1, 32, 1, 1, 0, stream, NULL, 0 };
	uint32_t n = WORDS;

	return cuLaunchKernelEx(&how, t->axpy, (void *[]){ &y, &x, &a, &n }, NULL);
}

static void assert_word(uintptr_t at, uint32_t value)
{
	uint32_t v[WORDS];

	OK(cuMemcpyDtoH_v2(v, at, sizeof(v)));
	assert_int_equal(v[0], value);
	assert_int_equal(v[WORDS - 1], value);
}

BENCH_TEST(a_stream_computes_in_order)
{
	uint32_t in[WORDS], n = WORDS;
	uint64_t hash = 0, expected = 0xcbf29ce484222325ull;

	for (uint32_t i = 0; i < WORDS; i++)
		in[i] = i;
	OK(cuMemcpyHtoDAsync_v2(t->x, in, sizeof(in), t->a));
	memset(in, 0xff, sizeof(in)); /* a small copy has read it already */
	OK(fill(t, t->a, t->y, 5));
	OK(axpy(t, t->a, t->y, t->x, 3));
	OK(cuLaunchCooperativeKernel(t->hash, 1, 1, 1, 1, 1, 1, 0, t->a,
				     ((void *[]){ &t->x, &t->y, &n })));
	OK(cuMemcpyDtoHAsync_v2(&hash, t->x, sizeof(hash), t->a));
	assert_int_equal(hash, 0);
	OK(cuStreamSynchronize(t->a));
	for (uint32_t i = 0; i < WORDS; i++)
		expected = (expected ^ (5 + 3 * i)) * 0x100000001b3ull;
	assert_int_equal(hash, expected);
}

BENCH_TEST(copies_and_fills_run_in_stream_order)
{
	uint32_t v[WORDS] = { 0 };

	OK(spin(t, t->a, 50000));
	OK(cuMemsetD32Async(t->x, 7, WORDS, t->a));
	OK(cuMemcpyDtoDAsync_v2(t->y, t->x, WORDS * 4, t->a));
	OK(cuMemsetD8Async(t->y, 1, 4, t->a));
	OK(cuMemcpyAsync((uintptr_t)v, t->y, sizeof(v), t->a));
	FAILS(cuStreamQuery(t->a), NOT_READY);
	assert_int_equal(v[1], 0);
	OK(cuStreamSynchronize(t->a));
	assert_int_equal(v[0], 0x01010101);
	assert_int_equal(v[WORDS - 1], 7);
	OK(cuMemsetD32_v2(t->x, 9, WORDS));
	OK(cuMemsetD8_v2(t->x, 0, 4));
	OK(cuMemcpy((uintptr_t)v, t->x, sizeof(v)));
	assert_int_equal(v[0] + v[1], 9);
	FAILS(cuMemcpyHtoD_v2(t->x, v, WORDS * 4 + 1), 1);
	FAILS(cuMemsetD32_v2(t->x + 1, 0, 1), 1);
}

/* Synchronous copies are in the legacy stream: they wait for blocking streams and for no others. */
BENCH_TEST(the_legacy_stream_waits_for_blocking_streams)
{
	uint32_t v = 0;

	OK(spin(t, t->free, 20000));
	OK(cuStreamQuery(NULL));
	OK(cuStreamQuery(t->a));
	FAILS(cuStreamQuery(t->free), NOT_READY);
	OK(spin(t, t->a, 20000));
	OK(fill(t, t->a, t->x, 3));
	FAILS(cuStreamQuery(LEGACY), NOT_READY);
	OK(cuMemcpyDtoH_v2(&v, t->x, sizeof(v)));
	assert_int_equal(v, 3);
	OK(spin(t, NULL, 20000));
	OK(cuStreamQuery(t->free));
	FAILS(cuStreamQuery(t->b), NOT_READY);
	OK(cuCtxSynchronize());
	OK(cuStreamQuery(t->b));
}

static void *query_own_stream(void *out)
{
	struct {
		void *context;
		int rc[2];
	} *q = out;

	cuCtxSetCurrent(q->context);
	q->rc[0] = cuStreamQuery(PER_THREAD);
	q->rc[1] = cuStreamQuery_ptsz(NULL);
	return NULL;
}

BENCH_TEST(every_thread_has_a_default_stream_of_its_own)
{
	struct {
		void *context;
		int rc[2];
	} other = { t->context, { -1, -1 } };
	uint32_t us = 50000;
	pthread_t thread;

	OK(cuLaunchKernel_ptsz(t->spin, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &us }, NULL));
	FAILS(cuStreamQuery(PER_THREAD), NOT_READY);
	FAILS(cuStreamQuery_ptsz(NULL), NOT_READY);
	FAILS(cuStreamQuery(NULL), NOT_READY);
	pthread_create(&thread, NULL, query_own_stream, &other);
	pthread_join(thread, NULL);
	OK(other.rc[0]);
	OK(other.rc[1]);
	OK(cuStreamQuery(t->free));
}

BENCH_TEST(work_of_a_destroyed_stream_goes_on_and_its_handle_is_invalid)
{
	void *s;

	OK(cuStreamCreate(&s, 0));
	OK(spin(t, s, 10000));
	OK(fill(t, s, t->x, 11));
	OK(cuStreamDestroy_v2(s));
	FAILS(cuStreamSynchronize(s), 400);
	FAILS(cuStreamQuery(s), 400);
	FAILS(cuStreamWaitEvent(s, t->e, 0), 400);
	FAILS(cuEventRecord(t->e, s), 400);
	FAILS(spin(t, s, 1), 400);
	FAILS(cuStreamDestroy_v2(s), 400);
	FAILS(cuStreamQuery((void *)0x1234), 400);
	FAILS(cuStreamQuery(&s), 400);
	FAILS(cuEventQuery(t->a), 400);
	OK(cuEventDestroy_v2(t->e));
	FAILS(cuEventSynchronize(t->e), 400);
	assert_word(t->x, 11);
}

BENCH_TEST(streams_wait_for_events_of_others)
{
	OK(spin(t, t->free, 20000));
	OK(fill(t, t->free, t->x, 2));
	OK(cuEventRecord(t->e, t->free));
	OK(cuStreamWaitEvent(t->a, t->e, 0));
	FAILS(cuStreamQuery(t->a), NOT_READY);
	FAILS(cuEventQuery(t->e), NOT_READY);
	OK(cuStreamQuery(t->b));
	OK(cuStreamSynchronize(t->a));
	OK(cuEventQuery(t->e));
	assert_word(t->x, 2);
}

BENCH_TEST(a_spin_takes_its_time_and_a_noop_takes_none)
{
	float ms = 0;

	OK(spin(t, t->a, 100));
	OK(cuEventRecord(t->e, t->a));
	for (int i = 0; i < 400; i++) {
		OK(spin(t, t->a, 50));
		OK(cuLaunchKernel(t->noop, 1, 1, 1, 1, 1, 1, 0, t->a, NULL, NULL));
	}
	OK(cuEventRecord(t->e2, t->a));
	OK(cuEventSynchronize(t->e2));
	OK(cuEventElapsedTime(&ms, t->e, t->e2));
	/* Where the queue ran empty, the GPU waited. */
	assert_true(ms >= 19.999F);
	OK(cuLaunchKernel(t->noop, 1, 1, 1, 1, 1, 1, 0, t->a, NULL, NULL));
	OK(cuStreamQuery(t->a));
	FAILS(cuLaunchKernel(t->spin, 1, 1, 1, 1, 1, 1, 0, t->a, NULL, NULL), 1);
	FAILS(cuLaunchKernel(t->noop, 0, 1, 1, 1, 1, 1, 0, t->a, NULL, NULL), 1);
}

/* What a host function saw. */
struct notes {
	pthread_t thread;
	uint32_t value, calls;
	int may_end;
};

static void note(void *data)
{
	struct notes *n = data;

	n->thread = pthread_self();
	n->calls++;
	while (!__atomic_load_n(&n->may_end, __ATOMIC_ACQUIRE))
		;
}

BENCH_TEST(host_functions_run_in_order_on_another_thread)
{
	struct notes n = { .may_end = 0 };

	OK(cuMemsetD32Async(t->x, 21, WORDS, t->a));
	OK(cuMemcpyDtoHAsync_v2(&n.value, t->x, sizeof(n.value), t->a));
	OK(cuLaunchHostFunc(t->a, note, &n));
	OK(cuMemsetD32Async(t->x, 22, WORDS, t->a));
	OK(cuEventRecord(t->e, t->a));
	FAILS(cuEventQuery(t->e), NOT_READY);
	FAILS(cuStreamQuery(t->a), NOT_READY);
	__atomic_store_n(&n.may_end, 1, __ATOMIC_RELEASE);
	OK(cuEventSynchronize(t->e));
	assert_int_equal(n.value, 21);
	assert_int_equal(n.calls, 1);
	assert_false(pthread_equal(n.thread, pthread_self()));
	assert_word(t->x, 22);
	for (int i = 0; i < 500; i++)
		OK(cuLaunchHostFunc(t->b, note, &n));
	OK(cuCtxSynchronize());
	assert_int_equal(n.calls, 501);
}

static void *end_capture(struct bench *t, void *stream)
{
	void *graph = t, *exec;

	OK(cuStreamEndCapture(stream, &graph));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphDestroy(graph));
	return exec;
}

BENCH_TEST(a_captured_graph_runs_when_it_is_launched)
{
	struct notes n = { .may_end = 1 };
	void *exec, *same = NULL;
	uint64_t id = 0;
	int status = -1;

	OK(cuMemsetD32_v2(t->x, 1, WORDS));
	OK(cuMemsetD32_v2(t->y, 0, WORDS));
	OK(cuStreamBeginCapture_v2(t->a, THREAD_LOCAL));
	OK(axpy(t, t->a, t->y, t->x, 2));
	OK(cuMemcpyDtoDAsync_v2(t->x, t->y, 4, t->a));
	OK(cuLaunchHostFunc(t->a, note, &n));
	OK(cuStreamGetCaptureInfo_v2(t->a, &status, &id, &same, NULL, NULL));
	assert_int_equal(status, ACTIVE);
	assert_true(id > 0);
	assert_non_null(same);
	exec = end_capture(t, t->a);
	OK(cuStreamIsCapturing(t->a, &status));
	assert_int_equal(status, NONE);
	OK(cuCtxSynchronize());
	assert_int_equal(n.calls, 0);
	assert_word(t->y, 0);
	OK(cuGraphLaunch(exec, t->free));
	OK(cuGraphLaunch(exec, t->free));
	OK(cuStreamSynchronize(t->free));
	assert_int_equal(n.calls, 2);
	OK(cuMemcpyDtoH_v2(&n.value, t->y, 4));
	assert_int_equal(n.value, 2 + 2 * 2);
	OK(cuMemcpyDtoH_v2(&n.value, t->y + 4, 4));
	assert_int_equal(n.value, 2 + 2);
	OK(cuGraphExecDestroy(exec));
	FAILS(cuGraphLaunch(exec, t->free), 1);
}

BENCH_TEST(graphs_may_be_empty_and_part_of_others)
{
	void *graph, *empty, *one, *all;

	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphInstantiate_v2(&empty, graph, NULL, NULL, 0));
	OK(cuGraphLaunch(empty, t->a));
	OK(cuStreamSynchronize(t->a));
	OK(cuMemsetD32_v2(t->x, 1, WORDS));
	OK(cuMemsetD32_v2(t->y, 0, WORDS));
	OK(cuStreamBeginCapture_v2(t->free, GLOBAL));
	OK(axpy(t, t->free, t->y, t->x, 1));
	one = end_capture(t, t->free);
	OK(cuStreamBeginCapture_v2(t->free, RELAXED));
	for (int i = 0; i < 3; i++)
		OK(cuGraphLaunch(one, t->free));
	OK(cuGraphLaunch(empty, t->free));
	all = end_capture(t, t->free);
	OK(cuGraphLaunch(all, NULL));
	assert_word(t->y, 3);
	OK(cuGraphDestroy(graph));
	FAILS(cuGraphDestroy(graph), 1);
	FAILS(cuGraphLaunch(graph, t->a), 1);
	OK(cuGraphExecDestroy(empty));
	OK(cuGraphExecDestroy(one));
	OK(cuGraphExecDestroy(all));
}

/* The capture of a stream is invalid, and when it has ended the stream works again. */
static void assert_invalid(struct bench *t, void *stream)
{
	void *graph = t;
	int status = -1;

	OK(cuStreamIsCapturing(stream, &status));
	assert_int_equal(status, INVALIDATED);
	FAILS(spin(t, stream, 1), INVALID);
	FAILS(cuStreamEndCapture(stream, &graph), INVALID);
	assert_null(graph);
	FAILS(cuStreamEndCapture(stream, &graph), 401);
	OK(spin(t, stream, 1));
	OK(cuStreamSynchronize(stream));
}

BENCH_TEST(waiting_for_a_capturing_stream_is_an_error)
{
	OK(cuStreamBeginCapture_v2(t->a, RELAXED));
	FAILS(cuStreamBeginCapture_v2(t->a, RELAXED), 401);
	FAILS(cuStreamSynchronize(t->a), UNSUPPORTED);
	assert_invalid(t, t->a);
	OK(cuStreamBeginCapture_v2(t->a, GLOBAL));
	FAILS(cuStreamQuery(t->a), UNSUPPORTED);
	assert_invalid(t, t->a);
	OK(cuStreamBeginCapture_v2(t->free, THREAD_LOCAL));
	FAILS(cuCtxSynchronize(), UNSUPPORTED);
	assert_invalid(t, t->free);
	FAILS(cuStreamBeginCapture_v2(NULL, GLOBAL), UNSUPPORTED);
	FAILS(cuStreamBeginCapture_v2(t->a, 3), 1);
	OK(cuStreamBeginCapture_v2(PER_THREAD, GLOBAL));
	FAILS(cuStreamSynchronize(PER_THREAD), UNSUPPORTED);
	FAILS(cuStreamEndCapture(PER_THREAD, &(void *){ NULL }), INVALID);
}

BENCH_TEST(the_legacy_stream_cannot_wait_for_a_capture)
{
	int status = -1;

	OK(cuStreamBeginCapture_v2(t->a, GLOBAL));
	FAILS(cuStreamIsCapturing(NULL, &status), IMPLICIT);
	OK(cuStreamIsCapturing(t->a, &status));
	assert_int_equal(status, ACTIVE);
	OK(spin(t, t->b, 1));
	FAILS(spin(t, NULL, 1), IMPLICIT);
	assert_invalid(t, t->a);
	OK(cuStreamBeginCapture_v2(t->a, RELAXED));
	FAILS(cuStreamSynchronize(LEGACY), IMPLICIT);
	assert_invalid(t, t->a);
	OK(cuStreamBeginCapture_v2(t->a, RELAXED));
	FAILS(cuEventRecord(t->e, NULL), IMPLICIT);
	assert_invalid(t, t->a);
	OK(cuStreamBeginCapture_v2(t->a, RELAXED));
	FAILS(cuMemsetD8_v2(t->x, 0, 1), IMPLICIT);
	assert_invalid(t, t->a);
	OK(cuStreamBeginCapture_v2(t->free, GLOBAL));
	OK(spin(t, NULL, 1));
	OK(cuStreamSynchronize(NULL));
	FAILS(cuMemsetD8_v2(t->x, 0, 1), UNSUPPORTED);
	assert_invalid(t, t->free);
}

/* What another thread gets from calls that are unsafe while somebody captures. */
struct other {
	struct bench *t;
	void *stream;
	int mode, allocate, query, end;
};

static void *call_unsafe(void *data)
{
	struct other *o = data;
	uintptr_t p;

	cuCtxSetCurrent(o->t->context);
	cuThreadExchangeStreamCaptureMode(&o->mode);
	o->allocate = cuMemAlloc_v2(&p, 4);
	o->query = cuEventQuery(o->t->e);
	o->end = cuStreamEndCapture(o->stream, &(void *){ NULL });
	return NULL;
}

static struct other elsewhere(struct bench *t, void *stream, int mode)
{
	struct other o = { .t = t, .stream = stream, .mode = mode };
	pthread_t thread;

	pthread_create(&thread, NULL, call_unsafe, &o);
	pthread_join(thread, NULL);
	assert_int_equal(o.mode, GLOBAL); /* the mode it had before */
	return o;
}

BENCH_TEST(unsafe_calls_depend_on_the_modes)
{
	int mode = RELAXED;
	uintptr_t p;
	struct other o;
	void *graph;

	OK(cuStreamBeginCapture_v2(t->free, GLOBAL));
	o = elsewhere(t, t->free, RELAXED);
	assert_true(!o.allocate && !o.query && o.end == WRONG_THREAD);
	o = elsewhere(t, t->free, THREAD_LOCAL);
	assert_true(!o.allocate && !o.query && o.end == WRONG_THREAD);
	OK(cuThreadExchangeStreamCaptureMode(&mode));
	assert_int_equal(mode, GLOBAL);
	OK(cuMemAlloc_v2(&p, 4));
	OK(cuMemFree_v2(p));
	OK(cuThreadExchangeStreamCaptureMode(&mode));
	assert_int_equal(mode, RELAXED);
	OK(cuStreamEndCapture(t->free, &graph));
	OK(cuGraphDestroy(graph));
	OK(cuStreamBeginCapture_v2(t->free, GLOBAL));
	o = elsewhere(t, t->free, GLOBAL);
	assert_true(o.allocate == UNSUPPORTED && o.query == UNSUPPORTED);
	assert_invalid(t, t->free);
	OK(cuStreamBeginCapture_v2(t->free, THREAD_LOCAL));
	o = elsewhere(t, t->free, GLOBAL);
	assert_true(!o.allocate && !o.query && o.end == WRONG_THREAD);
	FAILS(cuMemAlloc_v2(&p, 4), UNSUPPORTED);
	assert_invalid(t, t->free);
	OK(cuStreamBeginCapture_v2(t->free, RELAXED));
	OK(cuMemAlloc_v2(&p, 4));
	o = elsewhere(t, t->free, GLOBAL);
	assert_true(!o.allocate && !o.query && !o.end);
}

BENCH_TEST(events_of_a_capture_fork_and_join)
{
	void *graph, *exec;
	int status = -1;

	OK(cuMemsetD32_v2(t->x, 1, WORDS));
	OK(cuStreamBeginCapture_v2(t->a, GLOBAL));
	OK(cuEventRecord(t->e, t->a));
	OK(cuStreamWaitEvent(t->free, t->e, 0));
	OK(cuStreamIsCapturing(t->free, &status));
	assert_int_equal(status, ACTIVE);
	OK(cuMemsetD32Async(t->x, 5, WORDS, t->free));
	FAILS(cuStreamEndCapture(t->free, &graph), UNMATCHED);
	FAILS(cuStreamEndCapture(t->a, &graph), INVALID);
	OK(cuStreamBeginCapture_v2(t->a, GLOBAL));
	OK(cuEventRecord(t->e, t->a));
	OK(cuStreamWaitEvent(t->free, t->e, 0));
	OK(cuMemsetD32Async(t->x, 5, WORDS, t->free));
	FAILS(cuStreamEndCapture(t->a, &graph), UNJOINED);
	assert_null(graph);
	OK(cuStreamBeginCapture_v2(t->a, GLOBAL));
	OK(cuEventRecord(t->e, t->a));
	OK(cuStreamWaitEvent(t->free, t->e, 0));
	OK(cuMemsetD32Async(t->x, 5, WORDS, t->free));
	OK(cuEventRecord(t->e2, t->free));
	OK(cuStreamWaitEvent(t->a, t->e2, 0));
	exec = end_capture(t, t->a);
	OK(cuStreamIsCapturing(t->free, &status));
	assert_int_equal(status, NONE);
	assert_word(t->x, 1);
	OK(cuGraphLaunch(exec, t->b));
	assert_word(t->x, 5);
	OK(cuGraphExecDestroy(exec));
	FAILS(cuEventQuery(t->e), CAPTURED);
	FAILS(cuEventSynchronize(t->e2), CAPTURED);
	OK(cuEventRecord(t->e, t->a));
	OK(cuEventSynchronize(t->e));
}

BENCH_TEST(captures_do_not_affect_other_streams)
{
	OK(cuEventRecord(t->e, t->b));
	OK(cuStreamBeginCapture_v2(t->a, GLOBAL));
	FAILS(cuStreamWaitEvent(t->a, t->e, 0), ISOLATION);
	assert_invalid(t, t->a);
	OK(cuStreamBeginCapture_v2(t->a, GLOBAL));
	OK(cuStreamBeginCapture_v2(t->b, GLOBAL));
	OK(cuEventRecord(t->e, t->a));
	FAILS(cuStreamWaitEvent(t->b, t->e, 0), MERGE);
	assert_invalid(t, t->a);
	assert_invalid(t, t->b);
	OK(cuStreamBeginCapture_v2(t->a, RELAXED));
	OK(cuEventRecord(t->e, t->a));
	FAILS(cuEventQuery(t->e), CAPTURED);
	assert_invalid(t, t->a);
	OK(cuStreamBeginCapture_v2(t->a, RELAXED));
	OK(cuStreamDestroy_v2(t->a));
	OK(cuCtxSynchronize());
}

BENCH_TEST(out_of_bounds_kernels_break_the_context)
{
	OK(fill(t, t->a, t->x + 4, 1));
	FAILS(cuStreamSynchronize(t->a), 700);
	FAILS(cuStreamQuery(t->b), 700);
	FAILS(spin(t, t->b, 1), 700);
	FAILS(cuCtxSynchronize(), 700);
}

TEST(functions_are_found_by_name_version_and_default_stream)
{
	static const struct {
		const char *base;
		int version;
		uint64_t flags;
		const char *exported; /* NULL: too old */
	} rows[] = {
		{ "cuLaunchKernel", 12000, 0, "cuLaunchKernel" },
		{ "cuLaunchKernel", 12000, 1, "cuLaunchKernel" },
		{ "cuLaunchKernel", 12000, 2, "cuLaunchKernel_ptsz" },
		{ "cuLaunchKernel", 6000, 2, "cuLaunchKernel" },
		{ "cuMemcpyHtoD", 12000, 2, "cuMemcpyHtoD_v2_ptds" },
		{ "cuMemcpy", 12000, 2, "cuMemcpy_ptds" },
		{ "cuMemcpyHtoDAsync", 12000, 2, "cuMemcpyHtoDAsync_v2_ptsz" },
		{ "cuMemAlloc", 12000, 2, "cuMemAlloc_v2" },
		{ "cuGraphInstantiate", 10000, 0, "cuGraphInstantiate" },
		{ "cuGraphInstantiate", 11080, 0, "cuGraphInstantiate_v2" },
		{ "cuGraphInstantiate", 12000, 0, "cuGraphInstantiateWithFlags" },
		{ "cuStreamBeginCapture", 10000, 0, "cuStreamBeginCapture" },
		{ "cuStreamBeginCapture", 12000, 2, "cuStreamBeginCapture_v2_ptsz" },
		{ "cuStreamGetCaptureInfo", 11000, 0, "cuStreamGetCaptureInfo" },
		{ "cuStreamGetCaptureInfo", 12000, 2, "cuStreamGetCaptureInfo_v2_ptsz" },
		{ "cuLaunchKernelEx", 11060, 2, "cuLaunchKernelEx_ptsz" },
		{ "cuLaunchKernelEx", 11050, 2, NULL },
		{ "cuGraphLaunch", 12000, 2, "cuGraphLaunch_ptsz" },
		{ "cuLaunchHostFunc", 9020, 0, NULL },
		{ "cuLaunchCooperativeKernel", 12000, 2, "cuLaunchCooperativeKernel_ptsz" },
		{ "cuEventRecord", 12000, 2, "cuEventRecord_ptsz" },
		{ "cuInit", 2000, 0, "cuInit" },
		{ "cuInit", 1000, 0, NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		void *f = lib, *expected = rows[i].exported ? dlsym(lib, rows[i].exported) : NULL;
		int status = -1;

		OK(cuGetProcAddress_v2(rows[i].base, &f, rows[i].version, rows[i].flags, &status));
		assert_ptr_equal(f, expected);
		assert_int_equal(status, expected ? 0 : 2);
		f = lib;
		FAILS(cuGetProcAddress(rows[i].base, &f, rows[i].version, rows[i].flags),
		      expected ? 0 : 500);
		assert_ptr_equal(f, expected);
		OK(cuGetProcAddress_v2(rows[i].base, &f, rows[i].version, rows[i].flags, NULL));
		assert_true(!rows[i].exported == !expected);
	}
	FAILS(cuGetProcAddress_v2(NULL, &lib, 12000, 0, NULL), 1);
	FAILS(cuGetProcAddress_v2("cuInit", NULL, 12000, 0, NULL), 1);
	FAILS(cuGetProcAddress_v2("cuInit", &(void *){ NULL }, 99000, 0, NULL), 1);
	FAILS(cuGetProcAddress_v2("cuInit", &(void *){ NULL }, 12000, 8, NULL), 1);
}

/* By the full name each exported function is found as itself: the driver's table has all of them.
 */
TEST(every_exported_function_is_found_by_its_name)
{
	char line[256], name[128];
	Dl_info at;
	FILE *f;
	int n = 0;

	assert_true(dladdr(dlsym(lib, "cuInit"), &at));
	snprintf(line, sizeof(line), "nm -D --defined-only %s", at.dli_fname);
	f = popen(line, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		void *p = NULL;

		if (sscanf(line, "%*s T %127s", name) != 1)
			continue;
		if (cuGetProcAddress(name, &p, 12000, 0))
			fail_msg("%s is not found", name);
		if (strstr(name, "_v2") || strstr(name, "_pt"))
			assert_ptr_equal(p, dlsym(lib, name));
		n++;
	}
	pclose(f);
	assert_true(n > 100);
}

TEST(errors_of_capture_have_names)
{
	static const char *const expected[] = {
		"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",  "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
		"CUDA_ERROR_STREAM_CAPTURE_MERGE",        "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
		"CUDA_ERROR_STREAM_CAPTURE_UNJOINED",     "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
		"CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",     "CUDA_ERROR_CAPTURED_EVENT",
		"CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
	};
	const char *name = NULL;

	for (int i = 0; i < 9; i++) {
		OK(cuGetErrorName(UNSUPPORTED + i, &name));
		assert_string_equal(name, expected[i]);
	}
}

int main(void)
{
	return run_unit_tests(init, done);
}
