/*
 * cuda_client.c - a CUDA program for tests: it knows the driver API and nothing else.
 *
 *	cuda_client --rounds N [--threads T]              compute and print a checksum of all
 *results cuda_client --spin US --for S [--idle US]         keep the GPU busy with kernels of US
 *microseconds cuda_client --workload NAME --batch B --for S     the same with a workload of the lab
 *	cuda_client --noop N                              time N launches of nothing
 *	    --route link|dlsym|proc1|proc2   how it reaches the driver: linked, by dlsym, or by
 *cuGetProcAddress of CUDA 11 or 12; dlsym without it
 *	    --ptsz                           with per-thread default streams
 *	    --device N                       another GPU than the first
 *	    --queue N                        launches that it keeps in the queue; 16 without it
 *
 * The checksum is the same by every route. Modes with --for print a line "progress LAUNCHES
 *SECONDS" about every second and at their end a line of JSON, with the longest time of a launch;
 *seconds are those of the program's clock. --noop prints JSON with real nanoseconds. It is built
 *twice, as cuda_client_linked with the driver as a library that it needs; --route link runs that
 *one.
 */
#include <dlfcn.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define IMAGE          "heshare-lab workloads 1\n"
#define NOTHING        77   /* no CUDA here */
#define WORDS          1024 /* of a buffer */
#define MAX_THREADS    16
#define GRAPH_LAUNCHES 5 /* a round */
#define RECAPTURE      8 /* rounds that a graph serves */
#define PAUSE_US \
	20000 /* in every second capture, so that a thread can find the stream without work */
#define NON_BLOCKING 1
#define THREAD_LOCAL 1 /* capture mode */

struct config {
	unsigned gx, gy, gz, bx, by, bz, shared_bytes;
	void *stream, *attributes;
	unsigned n_attributes;
};

/* Field, base name, exported name, exported name with per-thread default streams, parameters. */
/* clang-format off */
#define FUNCTIONS(F) \
	F(init, cuInit, cuInit, cuInit, (unsigned)) \
	F(device, cuDeviceGet, cuDeviceGet, cuDeviceGet, (int *, int)) \
	F(retain, cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, \
	      (void **, int)) \
	F(release, cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, \
	      cuDevicePrimaryCtxRelease_v2, (int)) \
	F(current, cuCtxSetCurrent, cuCtxSetCurrent, cuCtxSetCurrent, (void *)) \
	F(synchronize, cuCtxSynchronize, cuCtxSynchronize, cuCtxSynchronize, (void)) \
	F(module, cuModuleLoadData, cuModuleLoadData, cuModuleLoadData, (void **, const void *)) \
	F(function, cuModuleGetFunction, cuModuleGetFunction, cuModuleGetFunction, \
	      (void **, void *, const char *)) \
	F(allocate, cuMemAlloc, cuMemAlloc_v2, cuMemAlloc_v2, (uintptr_t *, size_t)) \
	F(free, cuMemFree, cuMemFree_v2, cuMemFree_v2, (uintptr_t)) \
	F(to_gpu, cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz, \
	      (uintptr_t, const void *, size_t, void *)) \
	F(from_gpu, cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz, \
	      (void *, uintptr_t, size_t, void *)) \
	F(on_gpu, cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz, \
	      (uintptr_t, uintptr_t, size_t, void *)) \
	F(copy, cuMemcpyDtoH, cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds, (void *, uintptr_t, size_t)) \
	F(set, cuMemsetD32Async, cuMemsetD32Async, cuMemsetD32Async_ptsz, \
	      (uintptr_t, unsigned, size_t, void *)) \
	F(launch, cuLaunchKernel, cuLaunchKernel, cuLaunchKernel_ptsz, \
	      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, \
		unsigned, unsigned, void *, void **, void **)) \
	F(launch_ex, cuLaunchKernelEx, cuLaunchKernelEx, cuLaunchKernelEx_ptsz, \
	      (const struct config *, void *, void **, void **)) \
	F(cooperate, cuLaunchCooperativeKernel, cuLaunchCooperativeKernel, \
	      cuLaunchCooperativeKernel_ptsz, (void *, unsigned, \
		unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **)) \
	F(host, cuLaunchHostFunc, cuLaunchHostFunc, cuLaunchHostFunc_ptsz, \
	      (void *, void (*)(void *), void *)) \
	F(stream, cuStreamCreate, cuStreamCreate, cuStreamCreate, (void **, unsigned)) \
	F(close_stream, cuStreamDestroy, cuStreamDestroy_v2, cuStreamDestroy_v2, (void *)) \
	F(wait_stream, cuStreamSynchronize, cuStreamSynchronize, cuStreamSynchronize_ptsz, \
	      (void *)) \
	F(query_stream, cuStreamQuery, cuStreamQuery, cuStreamQuery_ptsz, (void *)) \
	F(after, cuStreamWaitEvent, cuStreamWaitEvent, cuStreamWaitEvent_ptsz, \
	      (void *, void *, unsigned)) \
	F(event, cuEventCreate, cuEventCreate, cuEventCreate, (void **, unsigned)) \
	F(close_event, cuEventDestroy, cuEventDestroy_v2, cuEventDestroy_v2, (void *)) \
	F(record, cuEventRecord, cuEventRecord, cuEventRecord_ptsz, (void *, void *)) \
	F(wait_event, cuEventSynchronize, cuEventSynchronize, cuEventSynchronize, (void *)) \
	F(query_event, cuEventQuery, cuEventQuery, cuEventQuery, (void *)) \
	F(begin, cuStreamBeginCapture, cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz, \
	      (void *, int)) \
	F(end, cuStreamEndCapture, cuStreamEndCapture, cuStreamEndCapture_ptsz, (void *, void **)) \
	F(instantiate, cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, \
	      cuGraphInstantiateWithFlags, (void **, void *, \
		uint64_t)) \
	F(graph, cuGraphLaunch, cuGraphLaunch, cuGraphLaunch_ptsz, (void *, void *)) \
	F(close_graph, cuGraphDestroy, cuGraphDestroy, cuGraphDestroy, (void *)) \
	F(close_exec, cuGraphExecDestroy, cuGraphExecDestroy, cuGraphExecDestroy, (void *)) \
	F(error, cuGetErrorName, cuGetErrorName, cuGetErrorName, (int, const char **))
/* clang-format on */

#define FIELD(field, base, name, own, types) int(*field) types;
#define ROW(field, base, name, own, types)   { #base, #name, #own, offsetof(struct cuda, field) },
#define SLOT(field, base, name, own, types)  { (void (*)(void))name, (void (*)(void))own },

struct cuda {
	FUNCTIONS(FIELD)
};

static const struct {
	const char *base, *name, *own;
	size_t slot;
} rows[] = { FUNCTIONS(ROW) };

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

#ifdef LINKED
#define DECLARE(field, base, name, own, types)     extern int name types;
#define DECLARE_OWN(field, base, name, own, types) extern int own types;
FUNCTIONS(DECLARE)
FUNCTIONS(DECLARE_OWN)
#endif

struct options {
	const char *route, *workload;
	bool ptsz;
	uint64_t rounds, threads, noop, batch, queue, device;
	double spin_us, idle_us, for_s;
};

struct program {
	struct cuda cu;
	struct options o;
	void *context, *module;
	int device;
};

/* @return whether a call went well; says what did not */
static bool went_well(const struct program *p, const char *what, int rc)
{
	const char *name = NULL;

	if (!rc)
		return true;
	if (p->cu.error)
		p->cu.error(rc, &name);
	fprintf(stderr, "cuda_client: %s: %s (%d)\n", what, name ? name : "unknown error", rc);
	return false;
}

#define TRY(p, call)                                    \
	do {                                            \
		if (!went_well(p, #call, (p)->cu.call)) \
			return 1;                       \
	} while (0)

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Also where clocks run at a lab's speed. */
static double real_seconds(void)
{
	struct timespec t;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void **slot_of(struct program *p, size_t i)
{
	return (void **)(void *)((char *)&p->cu + rows[i].slot);
}

static int reach_by_dlsym(struct program *p, void *lib)
{
	for (size_t i = 0; i < N_ROWS; i++) {
		const char *name = p->o.ptsz ? rows[i].own : rows[i].name;

		*slot_of(p, i) = dlsym(lib, name);
		if (!*slot_of(p, i)) {
			fprintf(stderr, "cuda_client: the driver has no %s\n", name);
			return 1;
		}
	}
	return 0;
}

static int reach_by_address(struct program *p, void *lib, bool first)
{
	union {
		void *p;
		int (*v1)(const char *, void **, int, uint64_t);
		int (*v2)(const char *, void **, int, uint64_t, int *);
	} get = { dlsym(lib, first ? "cuGetProcAddress" : "cuGetProcAddress_v2") };
	uint64_t flags = p->o.ptsz ? 2 : 1;

	if (!get.p)
		return 1;
	/* As NVIDIA's runtime: get cuGetProcAddress through itself. */
	if (first ? get.v1("cuGetProcAddress", &get.p, 11040, flags)
		  : get.v2("cuGetProcAddress", &get.p, 12000, flags, NULL))
		return 1;
	for (size_t i = 0; i < N_ROWS; i++) {
		int status = 0,
		    rc = first ? get.v1(rows[i].base, slot_of(p, i), 11060, flags)
			       : get.v2(rows[i].base, slot_of(p, i), 12000, flags, &status);

		if (rc || status || !*slot_of(p, i)) {
			fprintf(stderr, "cuda_client: the driver has no %s\n", rows[i].base);
			return 1;
		}
	}
	return 0;
}

static int reach(struct program *p)
{
	void *lib;

#ifdef LINKED
	static void (*const linked[][2])(void) = { FUNCTIONS(SLOT) };

	if (strcmp(p->o.route, "link") == 0) {
		for (size_t i = 0; i < N_ROWS; i++)
			memcpy(slot_of(p, i), &linked[i][p->o.ptsz], sizeof(void *));
		return 0;
	}
#endif
	lib = dlopen("libcuda.so.1", RTLD_NOW);
	if (!lib) {
		fprintf(stderr, "cuda_client: no CUDA driver: %s\n", dlerror());
		return NOTHING;
	}
	return strcmp(p->o.route, "dlsym") == 0
		       ? reach_by_dlsym(p, lib)
		       : reach_by_address(p, lib, strcmp(p->o.route, "proc1") == 0);
}

static uint64_t mix(uint64_t sum, uint64_t v)
{
	return ((sum ^ v) * 0x9e3779b97f4a7c15ull) ^ (sum >> 29);
}

/* One thread of the computation. */
struct worker {
	struct program *p;
	uint64_t number, sum;
	uint64_t seen; /* by host functions */
	uint64_t captures;
	uint32_t in[WORDS], out[WORDS];
	uintptr_t a, b, c, hash; /* on the GPU */
	void *one, *two, *fork, *join, *fill, *axpy, *digest, *exec;
	int rc;
};

static int start_kernel(struct program *p, void *f, void *stream, void **params)
{
	return p->cu.launch(f, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL);
}

static void see(void *data)
{
	struct worker *w = data;

	w->seen = mix(w->seen, w->out[w->seen % WORDS]);
}

static int open_worker(struct worker *w)
{
	struct program *p = w->p;

	TRY(p, current(p->context));
	TRY(p, allocate(&w->a, sizeof(w->in)));
	TRY(p, allocate(&w->b, sizeof(w->in)));
	TRY(p, allocate(&w->c, sizeof(w->in)));
	TRY(p, allocate(&w->hash, sizeof(uint64_t)));
	TRY(p, stream(&w->one, 0));
	TRY(p, stream(&w->two, NON_BLOCKING));
	TRY(p, event(&w->fork, 0));
	TRY(p, event(&w->join, 0));
	TRY(p, function(&w->fill, p->module, "lab.fill"));
	TRY(p, function(&w->axpy, p->module, "lab.axpy"));
	TRY(p, function(&w->digest, p->module, "lab.hash"));
	TRY(p, set(w->c, 1, WORDS, w->two));
	return 0;
}

static int close_worker(struct worker *w)
{
	struct program *p = w->p;

	TRY(p, close_exec(w->exec));
	TRY(p, close_event(w->fork));
	TRY(p, close_event(w->join));
	TRY(p, close_stream(w->one));
	TRY(p, close_stream(w->two));
	TRY(p, free(w->a));
	TRY(p, free(w->b));
	TRY(p, free(w->c));
	TRY(p, free(w->hash));
	return 0;
}

/* Two streams, a fork and a join: c += 3 b, b[0..16) = 7, then c into out and the host function. */
static int capture(struct worker *w)
{
	struct program *p = w->p;
	uint32_t n = WORDS, three = 3;
	void *graph, *other;

	if (w->exec)
		TRY(p, close_exec(w->exec));
	TRY(p, stream(&other, NON_BLOCKING));
	TRY(p, begin(w->two, THREAD_LOCAL));
	if (!went_well(p, "captured launch",
		       start_kernel(p, w->axpy, w->two, (void *[]){ &w->c, &w->b, &three, &n })))
		return 1;
	if (w->captures++ % 2 == 0)
		usleep(PAUSE_US);
	TRY(p, record(w->fork, w->two));
	TRY(p, after(other, w->fork, 0));
	TRY(p, set(w->b, 7, 16, other));
	TRY(p, record(w->join, other));
	TRY(p, after(w->two, w->join, 0));
	TRY(p, from_gpu(w->out, w->c, sizeof(w->out), w->two));
	TRY(p, host(w->two, see, w));
	TRY(p, end(w->two, &graph));
	TRY(p, instantiate(&w->exec, graph, 0));
	TRY(p, close_graph(graph));
	TRY(p, close_stream(other));
	return 0;
}

/* Every way to wait has its turn. */
static int wait_for_stream(struct worker *w, void *stream, uint64_t round)
{
	struct program *p = w->p;
	int rc;

	switch (round % 4) {
	case 0:
		TRY(p, wait_stream(stream));
		break;
	case 1:
		TRY(p, record(w->join, stream));
		TRY(p, wait_event(w->join));
		break;
	case 2:
		TRY(p, record(w->join, stream));
		while ((rc = p->cu.query_event(w->join)) == 600)
			sched_yield();
		return !went_well(p, "query_event", rc);
	default:
		while ((rc = p->cu.query_stream(stream)) == 600)
			sched_yield();
		return !went_well(p, "query_stream", rc);
	}
	return 0;
}

static int compute(struct worker *w, uint64_t round)
{
	struct program *p = w->p;
	uint32_t n = WORDS, value = (uint32_t)(round * 77 + w->number),
		 factor = (uint32_t)round + 5;
	struct config how = { 1, 1, 1, 64, 1, 1, 0, w->one, NULL, 0 };
	uint64_t digest = 0;

	for (uint32_t i = 0; i < WORDS; i++)
		w->in[i] = (uint32_t)mix(round + w->number * 1000003, i);
	TRY(p, to_gpu(w->a, w->in, sizeof(w->in), w->one));
	TRY(p, record(w->fork, w->one));
	TRY(p, after(w->two, w->fork, 0));
	if (!went_well(p, "launch",
		       start_kernel(p, w->fill, w->two, (void *[]){ &w->b, &n, &value })) ||
	    !went_well(p, "launch",
		       start_kernel(p, w->axpy, w->two, (void *[]){ &w->b, &w->a, &factor, &n })))
		return 1;
	for (int i = 0; i < GRAPH_LAUNCHES; i++)
		TRY(p, graph(w->exec, w->two));
	TRY(p, record(w->join, w->two));
	TRY(p, after(w->one, w->join, 0));
	TRY(p, launch_ex(&how, w->axpy, ((void *[]){ &w->a, &w->c, &factor, &n }), NULL));
	TRY(p, on_gpu(w->c, w->a + 64, sizeof(w->in) / 2, w->one));
	TRY(p, from_gpu(w->in, w->a, sizeof(w->in), w->one));
	if (wait_for_stream(w, w->one, round))
		return 1;
	TRY(p,
	    cooperate(w->digest, 1, 1, 1, 32, 1, 1, 0, NULL, ((void *[]){ &w->hash, &w->c, &n })));
	TRY(p, copy(&digest, w->hash, sizeof(digest)));
	w->sum = mix(mix(mix(w->sum, digest), w->in[round % WORDS]), w->seen);
	return 0;
}

static void *work(void *data)
{
	struct worker *w = data;

	w->rc = open_worker(w);
	for (uint64_t i = 0; !w->rc && i < w->p->o.rounds; i++) {
		if (i % RECAPTURE == 0)
			w->rc = capture(w);
		if (!w->rc)
			w->rc = compute(w, i);
	}
	if (!w->rc)
		w->rc = close_worker(w);
	return NULL;
}

static int run_rounds(struct program *p)
{
	struct worker *w = calloc(p->o.threads, sizeof(*w));
	pthread_t threads[MAX_THREADS];
	uint64_t sum = 0;
	int rc = w == NULL;

	for (uint64_t t = 0; w && t < p->o.threads; t++) {
		w[t].p = p;
		w[t].number = t;
		pthread_create(&threads[t], NULL, work, &w[t]);
	}
	for (uint64_t t = 0; w && t < p->o.threads; t++) {
		pthread_join(threads[t], NULL);
		rc |= w[t].rc;
		sum = mix(sum, w[t].sum);
	}
	free(w);
	if (rc)
		return 1;
	TRY(p, synchronize());
	printf("checksum %016" PRIx64 "\n", sum);
	return 0;
}

static volatile sig_atomic_t stopped;

static void stop(int sig)
{
	(void)sig;
	stopped = 1;
}

/* Launch for some time or until SIGTERM, never more than the queue ahead of the GPU; with --idle
 * wait for all of it and rest. */
static int run_for(struct program *p, const char *name, void **params)
{
	uint64_t n = p->o.queue, launched = 0;
	double from = seconds(), now = from, reported = from, longest = 0, before;
	void **ends = calloc(n, sizeof(*ends)), *f, *s;

	if (!ends)
		return 1;
	signal(SIGTERM, stop);
	TRY(p, function(&f, p->module, name));
	TRY(p, stream(&s, NON_BLOCKING));
	for (uint64_t i = 0; i < n; i++)
		TRY(p, event(&ends[i], 2));
	for (; now - from < p->o.for_s && !stopped; now = seconds()) {
		if (launched >= n)
			TRY(p, wait_event(ends[launched % n]));
		before = seconds();
		if (!went_well(p, "launch", start_kernel(p, f, s, params)))
			return 1;
		longest = fmax(longest, seconds() - before);
		TRY(p, record(ends[launched % n], s));
		launched++;
		if (p->o.idle_us > 0 && launched % n == 0) {
			TRY(p, wait_stream(s));
			usleep((useconds_t)p->o.idle_us);
		}
		if (now - reported >= 1) {
			printf("progress %" PRIu64 " %.6f\n", launched, now - from);
			fflush(stdout);
			reported = now;
		}
	}
	TRY(p, wait_stream(s));
	printf("{\"launches\": %" PRIu64 ", \"seconds\": %.6f, \"longest_s\": %.6f}\n", launched,
	       seconds() - from, longest);
	for (uint64_t i = 0; i < n; i++)
		TRY(p, close_event(ends[i]));
	TRY(p, close_stream(s));
	free(ends);
	return 0;
}

static int run_noop(struct program *p)
{
	double from;
	void *f, *s;

	TRY(p, function(&f, p->module, "lab.noop"));
	TRY(p, stream(&s, NON_BLOCKING));
	for (int i = 0; i < 1000; i++)
		if (!went_well(p, "launch", start_kernel(p, f, s, NULL)))
			return 1;
	TRY(p, wait_stream(s));
	from = real_seconds();
	for (uint64_t i = 0; i < p->o.noop; i++)
		if (!went_well(p, "launch", start_kernel(p, f, s, NULL)))
			return 1;
	printf("{\"launches\": %" PRIu64 ", \"ns_per_launch\": %.3f}\n", p->o.noop,
	       (real_seconds() - from) * 1e9 / (double)p->o.noop);
	TRY(p, wait_stream(s));
	TRY(p, close_stream(s));
	return 0;
}

static int run(struct program *p)
{
	uint32_t us = (uint32_t)p->o.spin_us, batch = (uint32_t)p->o.batch, one = 1;
	int rc;

	TRY(p, init(0));
	TRY(p, device(&p->device, (int)p->o.device));
	TRY(p, retain(&p->context, p->device));
	TRY(p, current(p->context));
	TRY(p, module(&p->module, IMAGE));
	if (p->o.noop)
		rc = run_noop(p);
	else if (us)
		rc = run_for(p, "lab.spin", (void *[]){ &us });
	else if (p->o.workload)
		rc = run_for(p, p->o.workload, (void *[]){ &batch, &one });
	else
		rc = run_rounds(p);
	if (!rc)
		TRY(p, release(p->device));
	return rc;
}

static int usage(void)
{
	fputs("usage: cuda_client [--route link|dlsym|proc1|proc2] [--ptsz] [--device N] [--queue "
	      "N] MODE\n"
	      "MODE is --rounds N [--threads T], --spin US --for S [--idle US], --workload NAME "
	      "--batch B --for S [--idle US],\n"
	      "or --noop N\n",
	      stderr);
	return 2;
}

static const struct option names[] = { { "route", required_argument, NULL, 'r' },
				       { "ptsz", no_argument, NULL, 'p' },
				       { "rounds", required_argument, NULL, 'n' },
				       { "threads", required_argument, NULL, 't' },
				       { "spin", required_argument, NULL, 's' },
				       { "for", required_argument, NULL, 'f' },
				       { "idle", required_argument, NULL, 'i' },
				       { "workload", required_argument, NULL, 'w' },
				       { "batch", required_argument, NULL, 'b' },
				       { "noop", required_argument, NULL, 'o' },
				       { "queue", required_argument, NULL, 'q' },
				       { "device", required_argument, NULL, 'd' },
				       { 0 } };

static bool parse(int argc, char **argv, struct options *o)
{
	int c;

	*o = (struct options){ .route = "dlsym", .threads = 1, .batch = 1, .queue = 16 };
	while ((c = getopt_long(argc, argv, "", names, NULL)) >= 0) {
		uint64_t n = optarg ? strtoull(optarg, NULL, 10) : 0;
		double x = optarg ? strtod(optarg, NULL) : 0;

		switch (c) {
		case 'r':
			o->route = optarg;
			break;
		case 'p':
			o->ptsz = true;
			break;
		case 'n':
			o->rounds = n;
			break;
		case 't':
			o->threads = n;
			break;
		case 's':
			o->spin_us = x;
			break;
		case 'f':
			o->for_s = x;
			break;
		case 'i':
			o->idle_us = x;
			break;
		case 'w':
			o->workload = optarg;
			break;
		case 'b':
			o->batch = n;
			break;
		case 'o':
			o->noop = n;
			break;
		case 'q':
			o->queue = n;
			break;
		case 'd':
			o->device = n;
			break;
		default:
			return false;
		}
	}
	if (strcmp(o->route, "link") && strcmp(o->route, "dlsym") && strcmp(o->route, "proc1") &&
	    strcmp(o->route, "proc2"))
		return false;
	return optind == argc && o->queue && o->threads && o->threads <= MAX_THREADS &&
	       (o->rounds || o->noop || (o->for_s > 0 && (o->spin_us >= 1 || o->workload)));
}

int main(int argc, char **argv)
{
	struct program p = { 0 };
	int rc;

	if (!parse(argc, argv, &p.o))
		return usage();
#ifndef LINKED
	if (strcmp(p.o.route, "link") == 0) {
		char path[4096];
		ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - sizeof("_linked"));

		if (n > 0) {
			strcpy(path + n, "_linked");
			execv(path, argv);
		}
		perror("cuda_client: cuda_client_linked");
		return 1;
	}
#endif
	rc = reach(&p);
	return rc ? rc : run(&p);
}
