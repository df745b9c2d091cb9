/*
 * task.c - vgpu-task: run iterations of a workload on a GPU, as a training script would.
 *
 *	vgpu-task --workload NAME --batch N --iterations N [--start S] [--every S] [--device N]
 *
 * It uses only the CUDA driver API, and finds the driver as the CUDA runtime does (dlopen, then
 *cuGetProcAddress). It allocates the workload's memory, keeps a few launches in the queue and
 *prints "heshare: N iterations" when one ends. With --every S it prints "heshare: N iterations in T
 *s" about every S seconds, T by the GPU's clock. --start S is what a script imports and loads: it
 *takes S seconds, in which the task does not use the GPU.
 */
#include <dlfcn.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/num.h"
#include "heshare/model.h"

#define CUDA_API    12000
#define IMAGE       "heshare-lab workloads 1\n"
#define STEPS       50  /* launches in all, without --every */
#define IN_FLIGHT   4   /* launches in the queue */
#define CONTEXT_MIB 256 /* of a workload's memory */
#define NOTHING     77  /* no GPU here */

struct cuda {
	int (*get)(const char *name, void **out, int version, uint64_t flags, int *status);
	int (*init)(unsigned flags);
	int (*device)(int *out, int ordinal);
	int (*context)(void **out, unsigned flags, int device);
	int (*close)(void *context);
	int (*module)(void **out, const void *image);
	int (*function)(void **out, void *module, const char *name);
	int (*launch)(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		      unsigned bz, unsigned shared_bytes, void *stream, void **params,
		      void **extra);
	int (*allocate)(uint64_t *out, size_t bytes);
	int (*event)(void **out, unsigned flags);
	int (*forget_event)(void *event);
	int (*unload)(void *module);
	int (*release)(uint64_t memory);
	int (*record)(void *event, void *stream);
	int (*wait)(void *event);
	int (*elapsed)(float *ms, void *from, void *to);
	int (*error)(int code, const char **out);
};

static const struct {
	const char *name;
	size_t slot;
} functions[] = {
	{ "cuInit", offsetof(struct cuda, init) },
	{ "cuDeviceGet", offsetof(struct cuda, device) },
	{ "cuCtxCreate", offsetof(struct cuda, context) },
	{ "cuCtxDestroy", offsetof(struct cuda, close) },
	{ "cuModuleLoadData", offsetof(struct cuda, module) },
	{ "cuModuleGetFunction", offsetof(struct cuda, function) },
	{ "cuLaunchKernel", offsetof(struct cuda, launch) },
	{ "cuMemAlloc", offsetof(struct cuda, allocate) },
	{ "cuEventCreate", offsetof(struct cuda, event) },
	{ "cuEventDestroy", offsetof(struct cuda, forget_event) },
	{ "cuModuleUnload", offsetof(struct cuda, unload) },
	{ "cuMemFree", offsetof(struct cuda, release) },
	{ "cuEventRecord", offsetof(struct cuda, record) },
	{ "cuEventSynchronize", offsetof(struct cuda, wait) },
	{ "cuEventElapsedTime", offsetof(struct cuda, elapsed) },
	{ "cuGetErrorName", offsetof(struct cuda, error) },
};

struct options {
	const char *workload;
	uint64_t batch, iterations, device;
	double every_s; /* 0: STEPS lines in all */
	double start_s; /* until the GPU is first used */
};

static int parse(int argc, char **argv, struct options *o)
{
	static const struct option names[] = { { "workload", required_argument, NULL, 'w' },
					       { "batch", required_argument, NULL, 'b' },
					       { "iterations", required_argument, NULL, 'n' },
					       { "device", required_argument, NULL, 'd' },
					       { "every", required_argument, NULL, 'e' },
					       { "start", required_argument, NULL, 's' },
					       { 0 } };
	struct hes_err err = { 0 };
	int c, rc = 0;

	*o = (struct options){ .batch = 1 };
	while (!rc && (c = getopt_long(argc, argv, "", names, NULL)) >= 0) {
		if (c == 'w')
			o->workload = optarg;
		else if (c == 'b')
			rc = hes_parse_u64("--batch", optarg, 1, HES_MODEL_MAX_BATCH, &o->batch,
					   &err);
		else if (c == 'n')
			rc = hes_parse_u64("--iterations", optarg, 1, 1000000000, &o->iterations,
					   &err);
		else if (c == 'e')
			rc = hes_parse_double("--every", optarg, 1e-3, 1e6, &o->every_s, &err);
		else if (c == 's')
			rc = hes_parse_double("--start", optarg, 0, 1e6, &o->start_s, &err);
		else if (c == 'd')
			rc = hes_parse_u64("--device", optarg, 0, 1000, &o->device, &err);
		else
			rc = 1;
	}
	if (rc < 0)
		fprintf(stderr, "vgpu-task: %s\n", err.msg);
	if (!rc && o->workload && o->iterations && optind == argc)
		return 0;
	fputs("usage: vgpu-task --workload NAME --batch N --iterations N [--start S] [--every S] "
	      "[--device N]\n",
	      stderr);
	return 2;
}

static int find_cuda(struct cuda *c)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	void *get = lib ? dlsym(lib, "cuGetProcAddress_v2") : NULL;

	if (!get) {
		fprintf(stderr, "vgpu-task: no CUDA driver: %s\n", dlerror());
		return NOTHING;
	}
	memcpy(&c->get, &get, sizeof(get));
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void **slot = (void **)(void *)((char *)c + functions[i].slot);
		int status;

		if (c->get(functions[i].name, slot, CUDA_API, 0, &status) || !*slot) {
			fprintf(stderr, "vgpu-task: the CUDA driver has no %s\n",
				functions[i].name);
			return NOTHING;
		}
	}
	return 0;
}

static int fail(const struct cuda *c, const char *what, int code)
{
	const char *name = NULL;

	c->error(code, &name);
	fprintf(stderr, "vgpu-task: %s: %s (%d)\n", what, name ? name : "unknown error", code);
	return 1;
}

/* Launches in the queue, with an event at the end of each. */
struct flow {
	const struct cuda *c;
	const struct options *o;
	void *f;
	void *events[IN_FLIGHT + 1];  /* the first is the end of the launch before */
	uint64_t upto[IN_FLIGHT + 1]; /* iterations done by then */
	uint64_t issued, done;        /* launches */
	double gpu_s, step_s, step; /* GPU time so far; seconds and iterations of the last launch */
};

/* Iterations that the next launch ends with. */
static uint64_t next_upto(const struct flow *w)
{
	uint64_t i = w->issued, before = w->upto[i % (IN_FLIGHT + 1)],
		 left = w->o->iterations - before;
	double step = 1;

	if (w->o->every_s <= 0) {
		/* Steps without an iteration are left out. */
		for (i = before * STEPS / w->o->iterations + 1;
		     i < STEPS && w->o->iterations * i / STEPS <= before;)
			i++;
		return i < STEPS ? w->o->iterations * i / STEPS : w->o->iterations;
	}
	/* At most twice as many: the launches in the queue were planned at an earlier rate. */
	if (w->step_s > 0)
		step = fmin(2 * w->step, fmax(1, w->step * w->o->every_s / w->step_s));
	return before + (step < (double)left ? (uint64_t)step : left);
}

static int issue(struct flow *w)
{
	uint64_t before = w->upto[w->issued % (IN_FLIGHT + 1)], upto = next_upto(w);
	uint32_t batch = (uint32_t)w->o->batch, n = (uint32_t)(upto - before);
	int rc = w->c->launch(w->f, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &batch, &n }, NULL);

	w->issued++;
	w->upto[w->issued % (IN_FLIGHT + 1)] = upto;
	return rc ? rc : w->c->record(w->events[w->issued % (IN_FLIGHT + 1)], NULL);
}

static int retire(struct flow *w)
{
	size_t from = w->done % (IN_FLIGHT + 1), to = ++w->done % (IN_FLIGHT + 1);
	float ms = 0;
	int rc = w->c->wait(w->events[to]);

	if (!rc && w->o->every_s > 0)
		rc = w->c->elapsed(&ms, w->events[from], w->events[to]);
	if (rc)
		return rc;
	w->step = (double)(w->upto[to] - w->upto[from]);
	w->step_s = (double)ms * 1e-3;
	w->gpu_s += w->step_s;
	if (w->o->every_s > 0)
		printf("heshare: %" PRIu64 " iterations in %.9g s\n", w->upto[to], w->gpu_s);
	else
		printf("heshare: %" PRIu64 " iterations\n", w->upto[to]);
	fflush(stdout);
	return 0;
}

static int iterate(const struct cuda *c, void *f, const struct options *o)
{
	struct flow w = { .c = c, .o = o, .f = f };
	int rc = 0;

	for (size_t i = 0; !rc && i <= IN_FLIGHT; i++)
		rc = c->event(&w.events[i], 0);
	if (!rc)
		rc = c->record(w.events[0], NULL);
	while (!rc && w.upto[w.done % (IN_FLIGHT + 1)] < o->iterations) {
		while (!rc && w.issued - w.done < IN_FLIGHT &&
		       w.upto[w.issued % (IN_FLIGHT + 1)] < o->iterations)
			rc = issue(&w);
		if (!rc)
			rc = retire(&w);
	}
	for (size_t i = 0; i <= IN_FLIGHT; i++)
		c->forget_event(w.events[i]);
	return rc ? fail(c, "the work failed", rc) : 0;
}

/* Load the module, allocate memory and run the iterations. */
static int work(const struct cuda *c, const struct options *o, uint32_t memory_mib)
{
	void *module, *f;
	uint64_t memory;
	int rc = c->module(&module, IMAGE);

	if (rc)
		return fail(c, "loading code", rc);
	rc = c->function(&f, module, o->workload);
	if (rc) {
		fail(c, o->workload, rc);
	} else {
		rc = c->allocate(&memory,
				 (size_t)(memory_mib > CONTEXT_MIB ? memory_mib - CONTEXT_MIB : 1)
					 << 20);
		if (rc) {
			fail(c, "allocating memory", rc);
		} else {
			rc = iterate(c, f, o);
			c->release(memory);
		}
	}
	c->unload(module);
	return rc != 0;
}

static int run(const struct cuda *c, const struct options *o, uint32_t memory_mib)
{
	void *context;
	int device, rc = c->init(0);

	if (rc)
		return fail(c, "cuInit", rc);
	rc = c->device(&device, (int)o->device);
	if (!rc)
		rc = c->context(&context, 0, device);
	if (rc)
		return fail(c, "opening the device", rc);
	rc = work(c, o, memory_mib);
	c->close(context);
	return rc;
}

int main(int argc, char **argv)
{
	const struct hes_workload *w;
	struct hes_model *m = NULL;
	struct cuda c = { 0 };
	struct options o;
	struct hes_err err;
	uint32_t memory_mib;
	int rc = parse(argc, argv, &o);

	if (rc)
		return rc;
	if (hes_model_load(NULL, &m, &err) || !(w = hes_model_workload(m, o.workload, &err))) {
		fprintf(stderr, "vgpu-task: %s\n", err.msg);
		hes_model_free(m);
		return 2;
	}
	memory_mib = hes_workload_memory_mib(w, (uint32_t)o.batch);
	hes_model_free(m);
	/* A sleep, at the lab's speed: the host's cores are not modelled. */
	nanosleep(&(struct timespec){ .tv_sec = (time_t)o.start_s,
				      .tv_nsec = (long)(fmod(o.start_s, 1) * 1e9) },
		  NULL);
	rc = find_cuda(&c);
	return rc ? rc : run(&c, &o, memory_mib);
}
