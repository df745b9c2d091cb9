/*
 * cuda_executor.c - items on CUDA streams; see fair_executor.h.
 *
 * Behind each item an event is recorded on its stream. Before the first item of a turn another one
 * is: the GPU is idle then, so it passes at once. The time between it and the last of the others is
 * what the turn used.
 *
 * Events are polled. A wait in the driver would keep new work of the tenant from being queued
 * meanwhile.
 */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cuda_driver.h"
#include "fair_executor.h"

#define DEPTH    64
#define SPIN_NS  50000 /* polls without a pause, then with one */
#define PAUSE_NS 20000

/* An item on its way. */
struct launched {
	void *event; /* behind it; of the slot, as the sentence */
	unsigned slot;
	void *stream;
	void *item;
	int rc; /* of its launch */
};

struct gpu {
	struct cuda_driver cuda;
	void *context;
	bool primary; /* retained here */
	int device;
	unsigned depth;
	void *from; /* event before the first item of the turn */
	bool from_recorded, pushed;
	double used_ms; /* of the turn, up to the last item that has ended */
	struct launched places[HES_FAIR_MAX_DEPTH]; /* [depth]; the first n are on their way, in the
						       order of their start */
	struct hes_err errors[HES_FAIR_MAX_DEPTH];  /* [depth], by slot: where rc is not 0 */
	unsigned n;
	atomic_bool woken;
};

static uint64_t gpu_now_ns(void *self)
{
	(void)self;
	return hes_monotonic_ns();
}

static void gpu_close(void *self)
{
	struct gpu *g = self;

	if (g->context && !g->cuda.push(g->context)) {
		for (unsigned i = 0; i < g->depth; i++)
			if (g->places[i].event)
				g->cuda.event_destroy(g->places[i].event);
		if (g->from)
			g->cuda.event_destroy(g->from);
		g->cuda.pop(NULL);
	}
	if (g->primary)
		g->cuda.primary_release(g->device);
	cuda_driver_close(&g->cuda);
	free(g);
}

static int gpu_open_context(struct gpu *g, const struct hes_fair_cuda *c, struct hes_err *err)
{
	int code;

	if (c && c->context) {
		g->context = c->context;
		return 0;
	}
	code = g->cuda.device_get(&g->device, c ? c->device : 0);
	if (!code)
		code = g->cuda.primary_retain(&g->context, g->device);
	g->primary = !code;
	return code ? cuda_driver_fail(&g->cuda, "opening the device", code, err) : 0;
}

static int gpu_create_events(struct gpu *g, struct hes_err *err)
{
	int code = g->cuda.push(g->context);

	if (code)
		return cuda_driver_fail(&g->cuda, "cuCtxPushCurrent", code, err);
	code = g->cuda.event_create(&g->from, 0);
	for (unsigned i = 0; i < g->depth && !code; i++) {
		g->places[i].slot = i;
		code = g->cuda.event_create(&g->places[i].event, 0);
	}
	g->cuda.pop(NULL);
	return code ? cuda_driver_fail(&g->cuda, "cuEventCreate", code, err) : 0;
}

static int gpu_open(const void *config, void **self, struct hes_fair_depth *depth,
		    struct hes_err *err)
{
	const struct hes_fair_cuda *c = config;
	struct gpu *g;
	int rc;

	if (c && c->depth > HES_FAIR_MAX_DEPTH)
		return hes_fail(err, -EINVAL, "a depth of %u is more than %d", c->depth,
				HES_FAIR_MAX_DEPTH);
	g = calloc(1, sizeof(*g));
	if (!g)
		return hes_fail(err, -ENOMEM, "out of memory for an executor");
	g->depth = c && c->depth ? c->depth : DEPTH;
	rc = cuda_driver_open(&g->cuda, err);
	if (rc) {
		free(g);
		return rc;
	}
	rc = gpu_open_context(g, c, err);
	if (!rc)
		rc = gpu_create_events(g, err);
	if (rc) {
		gpu_close(g);
		return rc;
	}
	*self = g;
	*depth = (struct hes_fair_depth){ 1, g->depth };
	return 0;
}

static int gpu_stream_open(void *self, void **stream, struct hes_err *err)
{
	struct gpu *g = self;
	int code = g->cuda.stream_create(stream, CUDA_STREAM_NON_BLOCKING);

	return code ? cuda_driver_fail(&g->cuda, "cuStreamCreate", code, err) : 0;
}

/* Outside of turns, so the context is not current. */
static void gpu_stream_close(void *self, void *stream)
{
	struct gpu *g = self;

	if (g->cuda.push(g->context))
		return;
	g->cuda.stream_destroy(stream);
	g->cuda.pop(NULL);
}

static int gpu_begin(void *self, struct hes_err *err)
{
	struct gpu *g = self;
	int code = g->cuda.push(g->context);

	g->pushed = !code;
	g->from_recorded = false;
	g->used_ms = 0;
	return code ? cuda_driver_fail(&g->cuda, "cuCtxPushCurrent", code, err) : 0;
}

static int gpu_launch(struct gpu *g, void *stream, const struct hes_fair_work *w,
		      struct hes_err *err)
{
	const struct hes_fair_kernel *k = w->kernel;
	int code;

	if (!k)
		return w->run(w->arg, stream);
	code = g->cuda.launch(k->function, k->grid[0], k->grid[1], k->grid[2], k->block[0],
			      k->block[1], k->block[2], k->shared_bytes, stream, k->params,
			      k->extra);
	return code ? cuda_driver_fail(&g->cuda, "cuLaunchKernel", code, err) : 0;
}

/*
 * An event also follows an item that could not be launched: a function may have launched a part of
 * its work before it failed, and that part must end within the turn.
 */
static int gpu_start(void *self, void *stream, const struct hes_fair_work *w, void *item,
		     struct hes_err *err)
{
	struct gpu *g = self;
	struct launched *l = &g->places[g->n];
	int code = 0;

	if (!g->from_recorded)
		code = g->cuda.event_record(g->from, stream);
	if (code)
		return cuda_driver_fail(&g->cuda, "cuEventRecord", code, err);
	g->from_recorded = true;
	g->errors[l->slot].msg[0] = '\0';
	l->rc = gpu_launch(g, stream, w, &g->errors[l->slot]);
	code = g->cuda.event_record(l->event, stream);
	if (code)
		return cuda_driver_fail(&g->cuda, "cuEventRecord", code, err);
	l->stream = stream;
	l->item = item;
	g->n++;
	return 0;
}

/* The item at a place has ended; those behind it move up. */
static void gpu_retire(struct gpu *g, unsigned place, int code, struct hes_fair_ended *out)
{
	struct launched l = g->places[place];
	float ms = 0;

	out->item = l.item;
	out->rc = l.rc;
	if (l.rc)
		out->err = g->errors[l.slot];
	if (code)
		out->rc = cuda_driver_fail(&g->cuda, "the work failed on the GPU", code, &out->err);
	else if (!g->cuda.event_elapsed(&ms, g->from, l.event) && ms > g->used_ms)
		g->used_ms = ms;
	g->n--;
	memmove(&g->places[place], &g->places[place + 1], (g->n - place) * sizeof(l));
	g->places[g->n] = l;
}

/* Items of a stream end in their order. All places before this one have not ended. */
static bool gpu_waits(const struct gpu *g, unsigned place)
{
	for (unsigned i = 0; i < place; i++)
		if (g->places[i].stream == g->places[place].stream)
			return true;
	return false;
}

static unsigned gpu_poll(struct gpu *g, struct hes_fair_ended *out, unsigned max)
{
	unsigned n = 0;

	for (unsigned i = 0; i < g->n && n < max;) {
		int code =
			gpu_waits(g, i) ? CUDA_NOT_READY : g->cuda.event_query(g->places[i].event);

		if (code == CUDA_NOT_READY)
			i++;
		else
			gpu_retire(g, i, code, &out[n++]);
	}
	return n;
}

static unsigned gpu_collect(void *self, struct hes_fair_ended *out, unsigned max)
{
	const struct timespec pause = { 0, PAUSE_NS };
	struct gpu *g = self;
	uint64_t from_ns = gpu_now_ns(g);
	unsigned n;

	while (!(n = gpu_poll(g, out, max)) && !atomic_exchange(&g->woken, false)) {
		if (gpu_now_ns(g) - from_ns < SPIN_NS)
			sched_yield();
		else
			nanosleep(&pause, NULL);
	}
	return n;
}

static void gpu_wake(void *self)
{
	struct gpu *g = self;

	atomic_store(&g->woken, true);
}

static uint64_t gpu_end(void *self)
{
	struct gpu *g = self;

	if (g->pushed)
		g->cuda.pop(NULL);
	g->pushed = false;
	return (uint64_t)(g->used_ms * 1e6);
}

const struct hes_fair_executor hes_fair_cuda_executor = {
	.name = "cuda",
	.runs_functions = true,
	.launches_kernels = true,
	.keeps_order = true,
	.open = gpu_open,
	.close = gpu_close,
	.now_ns = gpu_now_ns,
	.stream_open = gpu_stream_open,
	.stream_close = gpu_stream_close,
	.begin = gpu_begin,
	.start = gpu_start,
	.collect = gpu_collect,
	.wake = gpu_wake,
	.end = gpu_end,
};
