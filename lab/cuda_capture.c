/*
 * cuda_capture.c - stream capture and graphs; see cuda_capture.h.
 *
 * A capture lists its operations in the order in which they were recorded; its graph runs them in
 * that order. Counts show which streams have joined the origin again: each stream counts the
 * operations of every other stream that its end depends on. Rules and errors follow NVIDIA's
 * documentation of cuStreamBeginCapture and cuThreadExchangeStreamCaptureMode.
 */
#include "cuda_capture.h"

#include <stdlib.h>
#include <string.h>

#include "cuda_stand_in.h"

enum { MODE_GLOBAL, MODE_THREAD_LOCAL, MODE_RELAXED, N_MODES };
enum { STATUS_NONE, STATUS_ACTIVE, STATUS_INVALIDATED };

struct graph_ops {
	struct cuda_op *v;
	size_t n, room;
};

struct cuda_graph {
	struct cuda_handle handle;
	struct graph_ops ops;
};

struct cuda_capture {
	struct cuda_capture *next;
	uint64_t id;
	int mode;
	pthread_t thread;
	bool invalid;
	struct cuda_context *context;
	struct cuda_stream
		*streams[CUDA_CAPTURE_STREAMS]; /* the first is the origin; NULL: destroyed */
	unsigned n;
	uint32_t covers[CUDA_CAPTURE_STREAMS][CUDA_CAPTURE_STREAMS];
	struct cuda_graph *graph;
};

static struct cuda_pool graphs = CUDA_POOL(struct cuda_graph, 1 << 16),
			executables = CUDA_POOL(struct cuda_graph, 1 << 16);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the captures */
static struct cuda_capture *captures;
static uint64_t last_id;

static _Thread_local int thread_mode = MODE_GLOBAL;

static bool captures_none(void)
{
	return !__atomic_load_n(&captures, __ATOMIC_ACQUIRE);
}

/* @return CUresult */
static int graph_append(struct graph_ops *g, const struct cuda_op *ops, size_t n)
{
	if (g->n + n > g->room) {
		size_t room = 2 * (g->n + n);
		struct cuda_op *v = realloc(g->v, room * sizeof(*v));

		if (!v)
			return VGPU_CUDA_OUT_OF_MEMORY;
		g->v = v;
		g->room = room;
	}
	if (n)
		memcpy(g->v + g->n, ops, n * sizeof(*ops));
	g->n += n;
	return 0;
}

static void graph_free(struct cuda_pool *pool, struct cuda_graph *g)
{
	free(g->ops.v);
	g->ops.v = NULL;
	cuda_pool_give(pool, g);
}

static int capture_fail(struct cuda_capture *k, int code)
{
	k->invalid = true;
	return code;
}

static bool capture_is_own(const struct cuda_capture *k)
{
	return pthread_equal(k->thread, pthread_self());
}

/* @return the first capture from @k on that the legacy stream would wait for; the captures are
 * locked */
static struct cuda_capture *capture_of_blocking(const struct cuda_context *c,
						struct cuda_capture *k)
{
	for (; k; k = k->next)
		for (unsigned i = 0; i < k->n && k->context == c; i++)
			if (k->streams[i] && k->streams[i]->blocking)
				return k;
	return NULL;
}

/* Work in the legacy stream invalidates every capture that it would wait for. */
static int capture_allows_legacy(const struct cuda_context *c)
{
	struct cuda_capture *k;
	int rc = 0;

	pthread_mutex_lock(&lock);
	for (k = capture_of_blocking(c, captures); k; k = capture_of_blocking(c, k->next))
		rc = capture_fail(k, CUDA_CAPTURE_IMPLICIT);
	pthread_mutex_unlock(&lock);
	return rc;
}

/* Record operations if the stream captures. @return whether it does */
static bool capture_append(struct cuda_stream *s, const struct cuda_op *ops, size_t n, int *rc)
{
	struct cuda_capture *k;

	pthread_mutex_lock(&lock);
	k = s->capture;
	if (k) {
		*rc = k->invalid ? CUDA_CAPTURE_INVALIDATED : graph_append(&k->graph->ops, ops, n);
		k->covers[s->place][s->place]++;
	}
	pthread_mutex_unlock(&lock);
	return k != NULL;
}

int cuda_enqueue(struct cuda_stream *s, const struct cuda_op *ops, size_t n)
{
	int rc;

	if (!captures_none()) {
		if (__atomic_load_n(&s->capture, __ATOMIC_ACQUIRE) &&
		    capture_append(s, ops, n, &rc))
			return rc;
		rc = s->legacy ? capture_allows_legacy(s->context) : 0;
		if (rc)
			return rc;
	}
	return cuda_submit(s, ops, n);
}

int cuda_capture_allows_wait(struct cuda_stream *s)
{
	int rc = 0;

	if (captures_none())
		return 0;
	if (s->legacy)
		return capture_allows_legacy(s->context);
	pthread_mutex_lock(&lock);
	if (s->capture)
		rc = s->capture->invalid ? CUDA_CAPTURE_INVALIDATED
					 : capture_fail(s->capture, CUDA_CAPTURE_UNSUPPORTED);
	pthread_mutex_unlock(&lock);
	return rc;
}

int cuda_capture_allows_context_wait(struct cuda_context *c)
{
	int rc = 0;

	if (captures_none())
		return 0;
	pthread_mutex_lock(&lock);
	for (struct cuda_capture *k = captures; k; k = k->next)
		if (k->context == c)
			rc = capture_fail(k, CUDA_CAPTURE_UNSUPPORTED);
	pthread_mutex_unlock(&lock);
	return rc;
}

int cuda_capture_allows_unsafe(void)
{
	int rc = 0;

	if (captures_none() || thread_mode == MODE_RELAXED)
		return 0;
	pthread_mutex_lock(&lock);
	for (struct cuda_capture *k = captures; k; k = k->next)
		if (capture_is_own(k) ? k->mode != MODE_RELAXED
				      : thread_mode == MODE_GLOBAL && k->mode == MODE_GLOBAL)
			rc = capture_fail(k, CUDA_CAPTURE_UNSUPPORTED);
	pthread_mutex_unlock(&lock);
	return rc;
}

/* The captures are locked. @return NULL: it has ended */
static struct cuda_capture *capture_find(uint64_t id)
{
	struct cuda_capture *k = captures;

	while (k && k->id != id)
		k = k->next;
	return k;
}

int cuda_capture_allows_event(const struct cuda_event *e)
{
	struct cuda_capture *k;

	if (!e->capture)
		return cuda_capture_allows_unsafe();
	pthread_mutex_lock(&lock);
	k = capture_find(e->capture);
	if (k)
		k->invalid = true;
	pthread_mutex_unlock(&lock);
	return CUDA_CAPTURED_EVENT;
}

bool cuda_capture_record(struct cuda_stream *s, struct cuda_event *e, int *rc)
{
	struct cuda_capture *k;

	*rc = 0;
	if (captures_none())
		return false;
	if (s->legacy) {
		*rc = capture_allows_legacy(s->context);
		return *rc != 0;
	}
	pthread_mutex_lock(&lock);
	k = s->capture;
	if (k && k->invalid) {
		*rc = CUDA_CAPTURE_INVALIDATED;
	} else if (k) {
		e->context = s->context;
		e->capture = k->id;
		memcpy(e->covers, k->covers[s->place], sizeof(e->covers));
	}
	pthread_mutex_unlock(&lock);
	return k != NULL;
}

/* Add a stream to a capture; the captures are locked. */
static int capture_join(struct cuda_capture *k, struct cuda_stream *s)
{
	if (k->n == CUDA_CAPTURE_STREAMS)
		return capture_fail(k, VGPU_CUDA_OUT_OF_MEMORY);
	s->place = k->n;
	k->streams[k->n++] = s;
	__atomic_store_n(&s->capture, k, __ATOMIC_RELEASE);
	return 0;
}

/* Wait for an event of capture @k; the captures are locked. */
static int capture_wait(struct cuda_capture *k, struct cuda_stream *s, const struct cuda_event *e)
{
	int rc = 0;

	if (!k)
		return CUDA_CAPTURED_EVENT;
	if (k->invalid)
		return CUDA_CAPTURE_INVALIDATED;
	if (s->legacy)
		return capture_fail(k, CUDA_CAPTURE_IMPLICIT);
	if (s->capture && s->capture != k) {
		s->capture->invalid = true;
		return capture_fail(k, CUDA_CAPTURE_MERGE);
	}
	if (!s->capture)
		rc = capture_join(k, s);
	for (unsigned i = 0; !rc && i < k->n; i++)
		if (k->covers[s->place][i] < e->covers[i])
			k->covers[s->place][i] = e->covers[i];
	return rc;
}

bool cuda_capture_wait(struct cuda_stream *s, const struct cuda_event *e, int *rc)
{
	bool concerned;

	*rc = 0;
	if (captures_none() && !e->capture)
		return false;
	pthread_mutex_lock(&lock);
	concerned = e->capture || s->capture;
	if (e->capture)
		*rc = capture_wait(capture_find(e->capture), s, e);
	else if (s->capture && e->context)
		*rc = s->capture->invalid ? CUDA_CAPTURE_INVALIDATED
					  : capture_fail(s->capture, CUDA_CAPTURE_ISOLATION);
	pthread_mutex_unlock(&lock);
	if (!concerned && s->legacy)
		*rc = capture_allows_legacy(s->context);
	return concerned || *rc;
}

/* The captures are locked. */
static void capture_end(struct cuda_capture *k)
{
	struct cuda_capture **at = &captures;

	while (*at != k)
		at = &(*at)->next;
	__atomic_store_n(at, k->next, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < k->n; i++)
		if (k->streams[i])
			__atomic_store_n(&k->streams[i]->capture, NULL, __ATOMIC_RELEASE);
	if (k->graph)
		graph_free(&graphs, k->graph);
	free(k);
}

void cuda_capture_forget(struct cuda_stream *s)
{
	struct cuda_capture *k;

	pthread_mutex_lock(&lock);
	k = s->capture;
	if (k && !s->place) {
		capture_end(k);
	} else if (k) {
		k->invalid = true;
		k->streams[s->place] = NULL;
	}
	pthread_mutex_unlock(&lock);
}

/* Whether the origin's end depends on all recorded operations. */
static bool capture_is_joined(const struct cuda_capture *k)
{
	for (unsigned i = 1; i < k->n; i++)
		if (k->covers[0][i] < k->covers[i][i])
			return false;
	return true;
}

static int capture_begin(struct cuda_stream *s, int mode)
{
	struct cuda_capture *k;
	int rc = CUDA_ILLEGAL_STATE;

	if (s->legacy)
		return CUDA_CAPTURE_UNSUPPORTED;
	pthread_mutex_lock(&lock);
	if (!s->capture) {
		k = calloc(1, sizeof(*k));
		rc = k && (k->graph = cuda_pool_take(&graphs)) ? 0 : VGPU_CUDA_OUT_OF_MEMORY;
		if (rc) {
			free(k);
		} else {
			k->id = ++last_id;
			k->mode = mode;
			k->thread = pthread_self();
			k->context = s->context;
			k->next = captures;
			capture_join(k, s);
			__atomic_store_n(&captures, k, __ATOMIC_RELEASE);
		}
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

static int stream_begin_capture(void *handle, int mode, bool per_thread)
{
	struct cuda_stream *s;
	int rc = mode >= 0 && mode < N_MODES ? cuda_stream_find(handle, per_thread, &s)
					     : CUDA_INVALID_VALUE;

	return rc ? rc : capture_begin(s, mode);
}

EXPORT_BOTH(cuStreamBeginCapture_v2, _ptsz, (void *stream, int mode),
	    stream_begin_capture(stream, mode, per_thread))

/* The first version has no mode argument: captures are global. */
EXPORT_BOTH(cuStreamBeginCapture, _ptsz, (void *stream),
	    stream_begin_capture(stream, MODE_GLOBAL, per_thread))

static int stream_end_capture(void *handle, struct cuda_graph **out, bool per_thread)
{
	struct cuda_stream *s;
	struct cuda_capture *k;
	int rc = out ? cuda_stream_find(handle, per_thread, &s) : CUDA_INVALID_VALUE;

	if (rc)
		return rc;
	pthread_mutex_lock(&lock);
	k = s->capture;
	if (!k) {
		rc = CUDA_ILLEGAL_STATE;
	} else if (s->place) {
		rc = capture_fail(k, CUDA_CAPTURE_UNMATCHED);
	} else if (k->mode != MODE_RELAXED && !capture_is_own(k)) {
		rc = CUDA_CAPTURE_WRONG_THREAD;
	} else {
		rc = k->invalid             ? CUDA_CAPTURE_INVALIDATED
		     : capture_is_joined(k) ? 0
					    : CUDA_CAPTURE_UNJOINED;
		*out = rc ? NULL : k->graph;
		k->graph = rc ? k->graph : NULL;
		capture_end(k);
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

EXPORT_BOTH(cuStreamEndCapture, _ptsz, (void *stream, struct cuda_graph **out),
	    stream_end_capture(stream, out, per_thread))

static int stream_capture_info(void *handle, int *status, uint64_t *id, struct cuda_graph **graph,
			       bool per_thread)
{
	struct cuda_stream *s;
	const struct cuda_capture *k;
	int rc = status ? cuda_stream_find(handle, per_thread, &s) : CUDA_INVALID_VALUE;

	if (rc)
		return rc;
	pthread_mutex_lock(&lock);
	k = s->capture;
	*status = !k ? STATUS_NONE : k->invalid ? STATUS_INVALIDATED : STATUS_ACTIVE;
	if (k && id)
		*id = k->id;
	if (k && graph)
		*graph = k->graph;
	if (s->legacy && capture_of_blocking(s->context, captures))
		rc = CUDA_CAPTURE_IMPLICIT;
	pthread_mutex_unlock(&lock);
	return rc;
}

EXPORT_BOTH(cuStreamIsCapturing, _ptsz, (void *stream, int *status),
	    stream_capture_info(stream, status, NULL, NULL, per_thread))

EXPORT_BOTH(cuStreamGetCaptureInfo, _ptsz, (void *stream, int *status, uint64_t *id),
	    stream_capture_info(stream, status, id, NULL, per_thread))

static int stream_capture_nodes(void *handle, int *status, uint64_t *id, struct cuda_graph **graph,
				const void ***nodes, size_t *n, bool per_thread)
{
	if (nodes)
		*nodes = NULL;
	if (n)
		*n = 0;
	return stream_capture_info(handle, status, id, graph, per_thread);
}

/* The lab does not list single nodes. */
EXPORT_BOTH(cuStreamGetCaptureInfo_v2, _ptsz,
	    (void *stream, int *status, uint64_t *id, struct cuda_graph **graph,
	     const void ***nodes, size_t *n),
	    stream_capture_nodes(stream, status, id, graph, nodes, n, per_thread))

EXPORT int cuThreadExchangeStreamCaptureMode(int *mode)
{
	int before = thread_mode;

	if (!mode || *mode < 0 || *mode >= N_MODES)
		return CUDA_INVALID_VALUE;
	thread_mode = *mode;
	*mode = before;
	return 0;
}

EXPORT int cuGraphCreate(struct cuda_graph **out, unsigned flags)
{
	if (!out || flags)
		return CUDA_INVALID_VALUE;
	*out = cuda_pool_take(&graphs);
	return *out ? 0 : VGPU_CUDA_OUT_OF_MEMORY;
}

EXPORT int cuGraphDestroy(struct cuda_graph *g)
{
	if (!cuda_pool_has(&graphs, g))
		return CUDA_INVALID_VALUE;
	graph_free(&graphs, g);
	return 0;
}

/* Only the number of nodes: they have no handles in the lab. */
EXPORT int cuGraphGetNodes(struct cuda_graph *g, void **nodes, size_t *n)
{
	if (!cuda_pool_has(&graphs, g) || !n || nodes)
		return CUDA_INVALID_VALUE;
	*n = g->ops.n;
	return 0;
}

EXPORT int cuGraphInstantiateWithFlags(struct cuda_graph **out, struct cuda_graph *g,
				       uint64_t flags)
{
	struct cuda_context *c;
	struct cuda_graph *x;
	int rc = cuda_current(&c);

	(void)flags;
	if (rc)
		return rc;
	if (!out || !cuda_pool_has(&graphs, g))
		return CUDA_INVALID_VALUE;
	x = cuda_pool_take(&executables);
	if (!x)
		return VGPU_CUDA_OUT_OF_MEMORY;
	rc = graph_append(&x->ops, g->ops.v, g->ops.n);
	if (rc)
		graph_free(&executables, x);
	else
		*out = x;
	return rc;
}

EXPORT int cuGraphInstantiate_v2(struct cuda_graph **out, struct cuda_graph *g, void **node,
				 char *log, size_t bytes)
{
	if (node)
		*node = NULL;
	if (log && bytes)
		*log = '\0';
	return cuGraphInstantiateWithFlags(out, g, 0);
}

EXPORT int cuGraphInstantiate(struct cuda_graph **out, struct cuda_graph *g, void **node, char *log,
			      size_t bytes)
{
	return cuGraphInstantiate_v2(out, g, node, log, bytes);
}

EXPORT int cuGraphExecDestroy(struct cuda_graph *x)
{
	if (!cuda_pool_has(&executables, x))
		return CUDA_INVALID_VALUE;
	graph_free(&executables, x);
	return 0;
}

static int graph_launch(struct cuda_graph *x, void *handle, bool per_thread)
{
	struct cuda_stream *s;
	int rc = cuda_pool_has(&executables, x) ? cuda_stream_find(handle, per_thread, &s)
						: CUDA_INVALID_VALUE;

	return rc ? rc : cuda_enqueue(s, x->ops.v, x->ops.n);
}

EXPORT_BOTH(cuGraphLaunch, _ptsz, (struct cuda_graph * x, void *stream),
	    graph_launch(x, stream, per_thread))

/* A graph needs no upload to a virtual GPU. */
static int graph_upload(struct cuda_graph *x, void *handle, bool per_thread)
{
	struct cuda_stream *s;

	return cuda_pool_has(&executables, x) ? cuda_stream_find(handle, per_thread, &s)
					      : CUDA_INVALID_VALUE;
}

EXPORT_BOTH(cuGraphUpload, _ptsz, (struct cuda_graph * x, void *stream),
	    graph_upload(x, stream, per_thread))
