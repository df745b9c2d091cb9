/*
 * cuda_streams.c - streams and events of libcuda's stand-in; see cuda_streams.h.
 *
 * A stream ends at a position of its context (cuda_queue.h); an event is a position. The streams of
 * a context use the GPU in the order of their launches.
 */
#include "cuda_streams.h"

#include <math.h>
#include <stdlib.h>

#include "cuda_capture.h"
#include "cuda_stand_in.h"

#define NON_BLOCKING 1
#define EXTERNAL     1 /* flag of waits; only captures use it */
#define OWN_STREAMS  8 /* contexts in which a thread can have its own default stream */

static struct cuda_pool streams = CUDA_POOL(struct cuda_stream, 1 << 16),
			events = CUDA_POOL(struct cuda_event, 1 << 20);

/* The default stream of this thread in each context that it used. */
static _Thread_local struct {
	uint64_t context;
	struct cuda_stream *stream;
} own[OWN_STREAMS];

static struct cuda_stream *stream_open(struct cuda_context *c, unsigned flags, int priority)
{
	struct cuda_stream *s = cuda_pool_take(&streams);

	if (!s)
		return NULL;
	s->flags = flags;
	s->priority = priority;
	s->blocking = !(flags & NON_BLOCKING);
	__atomic_store_n(&s->context, c, __ATOMIC_RELEASE);
	return s;
}

struct cuda_stream *cuda_stream_legacy(struct cuda_context *c)
{
	struct cuda_stream *s = stream_open(c, 0, 0);

	if (s) {
		s->legacy = true;
		s->blocking = false;
	}
	return s;
}

void cuda_streams_close(struct cuda_context *c)
{
	for (struct cuda_stream *s = cuda_pool_next(&streams, NULL); s;
	     s = cuda_pool_next(&streams, s)) {
		if (__atomic_load_n(&s->context, __ATOMIC_ACQUIRE) != c)
			continue;
		cuda_capture_forget(s);
		cuda_pool_give(&streams, s);
	}
}

static int stream_of_thread(struct cuda_context *c, struct cuda_stream **out)
{
	size_t i = 0;

	while (i < OWN_STREAMS && own[i].stream && own[i].context != c->number)
		i++;
	if (i == OWN_STREAMS)
		own[i = 0].stream = NULL;
	if (!own[i].stream) {
		own[i].stream = stream_open(c, 0, 0);
		own[i].context = c->number;
	}
	*out = own[i].stream;
	return *out ? 0 : VGPU_CUDA_OUT_OF_MEMORY;
}

int cuda_stream_find(void *handle, bool per_thread, struct cuda_stream **out)
{
	struct cuda_stream *s = handle;
	struct cuda_context *c;
	int rc;

	if ((uintptr_t)handle > CUDA_STREAM_PER_THREAD) {
		if (!cuda_pool_has(&streams, s) || s->legacy)
			return CUDA_INVALID_HANDLE;
		*out = s;
		return 0;
	}
	rc = cuda_current(&c);
	if (rc)
		return rc;
	if ((uintptr_t)handle == CUDA_STREAM_PER_THREAD || (!handle && per_thread))
		return stream_of_thread(c, out);
	*out = c->legacy;
	return 0;
}

EXPORT int cuStreamCreateWithPriority(struct cuda_stream **out, unsigned flags, int priority)
{
	struct cuda_context *c;
	int rc = cuda_current(&c);

	if (rc || !out || flags > NON_BLOCKING)
		return rc ? rc : CUDA_INVALID_VALUE;
	*out = stream_open(c, flags, priority);
	return *out ? 0 : VGPU_CUDA_OUT_OF_MEMORY;
}

EXPORT int cuStreamCreate(struct cuda_stream **out, unsigned flags)
{
	return cuStreamCreateWithPriority(out, flags, 0);
}

/* The stream's work still runs to its end. */
EXPORT int cuStreamDestroy_v2(struct cuda_stream *s)
{
	if (!cuda_pool_has(&streams, s) || s->legacy)
		return CUDA_INVALID_HANDLE;
	cuda_capture_forget(s);
	cuda_pool_give(&streams, s);
	return 0;
}

EXPORT int cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	struct cuda_context *c;
	int rc = cuda_current(&c);

	if (!rc && least)
		*least = 0;
	if (!rc && greatest)
		*greatest = 0;
	return rc;
}

/* Read one property of a stream. @return CUresult */
#define STREAM_GETTER(name, out_type, member)                                                 \
	static int get_##member(void *handle, out_type out, bool per_thread)                  \
	{                                                                                     \
		struct cuda_stream *s;                                                        \
		int rc = out ? cuda_stream_find(handle, per_thread, &s) : CUDA_INVALID_VALUE; \
                                                                                              \
		if (!rc)                                                                      \
			*out = s->member;                                                     \
		return rc;                                                                    \
	}                                                                                     \
	EXPORT_BOTH(name, _ptsz, (void *stream, out_type out),                                \
		    get_##member(stream, out, per_thread))

STREAM_GETTER(cuStreamGetFlags, unsigned *, flags)
STREAM_GETTER(cuStreamGetPriority, int *, priority)
STREAM_GETTER(cuStreamGetCtx, struct cuda_context **, context)

static int stream_synchronize(void *handle, bool per_thread)
{
	struct cuda_stream *s;
	int rc = cuda_stream_find(handle, per_thread, &s);

	if (!rc)
		rc = cuda_capture_allows_wait(s);
	return rc ? rc : cuda_await(s->context, cuda_stream_end(s));
}

EXPORT_BOTH(cuStreamSynchronize, _ptsz, (void *stream), stream_synchronize(stream, per_thread))

static int stream_query(void *handle, bool per_thread)
{
	struct cuda_stream *s;
	int rc = cuda_stream_find(handle, per_thread, &s);

	if (!rc)
		rc = cuda_capture_allows_wait(s);
	return rc ? rc : cuda_reached(s->context, cuda_stream_end(s));
}

EXPORT_BOTH(cuStreamQuery, _ptsz, (void *stream), stream_query(stream, per_thread))

bool cuda_event_is(const struct cuda_event *e)
{
	return cuda_pool_has(&events, e);
}

/* For an event of another context the calling thread waits; a real driver lets the GPU wait. */
static int stream_wait(void *handle, struct cuda_event *e, unsigned flags, bool per_thread)
{
	struct cuda_stream *s;
	int rc = cuda_event_is(e) ? cuda_stream_find(handle, per_thread, &s) : CUDA_INVALID_HANDLE;

	if (rc)
		return rc;
	if (flags & ~(unsigned)EXTERNAL)
		return CUDA_INVALID_VALUE;
	if (cuda_capture_wait(s, e, &rc) || !e->context)
		return rc;
	if (e->context != s->context)
		return cuda_await(e->context, e->at);
	cuda_stream_after(s, e->at);
	return 0;
}

EXPORT_BOTH(cuStreamWaitEvent, _ptsz, (void *stream, struct cuda_event *e, unsigned flags),
	    stream_wait(stream, e, flags, per_thread))

EXPORT int cuEventCreate(struct cuda_event **out, unsigned flags)
{
	struct cuda_context *c;
	int rc = cuda_current(&c);

	(void)flags;
	if (rc || !out)
		return rc ? rc : CUDA_INVALID_VALUE;
	*out = cuda_pool_take(&events);
	return *out ? 0 : VGPU_CUDA_OUT_OF_MEMORY;
}

EXPORT int cuEventDestroy_v2(struct cuda_event *e)
{
	if (!cuda_event_is(e))
		return CUDA_INVALID_HANDLE;
	cuda_pool_give(&events, e);
	return 0;
}

static int event_record(struct cuda_event *e, void *handle, bool per_thread)
{
	struct cuda_stream *s;
	struct cuda_position at;
	int rc = cuda_event_is(e) ? cuda_stream_find(handle, per_thread, &s) : CUDA_INVALID_HANDLE;

	if (rc || cuda_capture_record(s, e, &rc))
		return rc;
	at = cuda_stream_end(s);
	vgpu_lock(vgpu_here(), s->context->gpu);
	rc = s->context->client->error;
	if (!rc) {
		e->context = s->context;
		e->at = at;
		e->at_s = s->context->gpu->now_s;
		e->seen = false;
		e->capture = 0;
	}
	vgpu_unlock(s->context->gpu);
	return rc;
}

EXPORT_BOTH(cuEventRecord, _ptsz, (struct cuda_event * e, void *stream),
	    event_record(e, stream, per_thread))

/* The only flag makes an event node in a graph, which the lab does not have. */
EXPORT_BOTH(cuEventRecordWithFlags, _ptsz, (struct cuda_event * e, void *stream, unsigned flags),
	    flags ? CUDA_INVALID_VALUE : event_record(e, stream, per_thread))

/* Set the time of an event that was reached: the end of the launch before it. */
static void event_see(struct cuda_event *e)
{
	vgpu_lock(vgpu_here(), e->context->gpu);
	if (!e->seen && e->at.launch)
		e->at_s =
			fmax(e->at_s, e->context->client->ended_s[(e->at.launch - 1) % VGPU_ENDS]);
	e->seen = true;
	vgpu_unlock(e->context->gpu);
}

/* Query or wait for an event. @return CUresult */
static int event_check(struct cuda_event *e,
		       int (*check)(struct cuda_context *c, struct cuda_position at))
{
	int rc = cuda_event_is(e) ? cuda_capture_allows_event(e) : CUDA_INVALID_HANDLE;

	if (rc || !e->context)
		return rc;
	rc = check(e->context, e->at);
	if (!rc)
		event_see(e);
	return rc;
}

EXPORT int cuEventQuery(struct cuda_event *e)
{
	return event_check(e, cuda_reached);
}

EXPORT int cuEventSynchronize(struct cuda_event *e)
{
	return event_check(e, cuda_await);
}

EXPORT int cuEventElapsedTime(float *ms, struct cuda_event *from, struct cuda_event *to)
{
	int rc;

	if (!ms || !cuda_event_is(from) || !cuda_event_is(to))
		return CUDA_INVALID_HANDLE;
	if (from->capture || to->capture)
		return CUDA_CAPTURED_EVENT;
	if (!from->context || !to->context || from->context != to->context)
		return CUDA_INVALID_HANDLE;
	rc = cuda_reached(from->context, from->at);
	if (!rc)
		rc = cuda_reached(to->context, to->at);
	if (rc)
		return rc;
	event_see(from);
	event_see(to);
	*ms = (float)((to->at_s - from->at_s) * 1e3);
	return 0;
}
