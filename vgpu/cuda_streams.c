/*
 * cuda_streams.c - streams and events of libcuda's stand-in; see cuda_streams.h.
 *
 * A stream ends at a position of its context (cuda_queue.h), an event is such a position. Work of different streams of a
 * context has the GPU in the order it came. Functions named _ptsz take the thread's default stream for NULL.
 */
#include "cuda_streams.h"

#include <math.h>
#include <stdlib.h>

#include "cuda_capture.h"
#include "cuda_stand_in.h"

#define NON_BLOCKING 1
#define EXTERNAL     1     /* of a wait or a record: for captures only */
#define OWN_STREAMS  8     /* contexts in which a thread can have a default stream of its own */

static struct cuda_pool streams = CUDA_POOL(struct cuda_stream, 1 << 16), events = CUDA_POOL(struct cuda_event, 1 << 20);

/* The thread's default stream in each context that it used. */
static _Thread_local struct {
	uint64_t            context;
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
	for (struct cuda_stream *s = cuda_pool_next(&streams, NULL); s; s = cuda_pool_next(&streams, s)) {
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

/* Its work goes on. */
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

static int stream_flags(void *handle, unsigned *out, bool per_thread)
{
	struct cuda_stream *s;
	int rc = out ? cuda_stream_find(handle, per_thread, &s) : CUDA_INVALID_VALUE;

	if (!rc)
		*out = s->flags;
	return rc;
}

EXPORT int cuStreamGetFlags(void *stream, unsigned *out)
{
	return stream_flags(stream, out, false);
}

EXPORT int cuStreamGetFlags_ptsz(void *stream, unsigned *out)
{
	return stream_flags(stream, out, true);
}

static int stream_priority(void *handle, int *out, bool per_thread)
{
	struct cuda_stream *s;
	int rc = out ? cuda_stream_find(handle, per_thread, &s) : CUDA_INVALID_VALUE;

	if (!rc)
		*out = s->priority;
	return rc;
}

EXPORT int cuStreamGetPriority(void *stream, int *out)
{
	return stream_priority(stream, out, false);
}

EXPORT int cuStreamGetPriority_ptsz(void *stream, int *out)
{
	return stream_priority(stream, out, true);
}

static int stream_context(void *handle, struct cuda_context **out, bool per_thread)
{
	struct cuda_stream *s;
	int rc = out ? cuda_stream_find(handle, per_thread, &s) : CUDA_INVALID_VALUE;

	if (!rc)
		*out = s->context;
	return rc;
}

EXPORT int cuStreamGetCtx(void *stream, struct cuda_context **out)
{
	return stream_context(stream, out, false);
}

EXPORT int cuStreamGetCtx_ptsz(void *stream, struct cuda_context **out)
{
	return stream_context(stream, out, true);
}

static int stream_synchronize(void *handle, bool per_thread)
{
	struct cuda_stream *s;
	int rc = cuda_stream_find(handle, per_thread, &s);

	if (!rc)
		rc = cuda_capture_allows_wait(s);
	return rc ? rc : cuda_await(s->context, cuda_stream_end(s));
}

EXPORT int cuStreamSynchronize(void *stream)
{
	return stream_synchronize(stream, false);
}

EXPORT int cuStreamSynchronize_ptsz(void *stream)
{
	return stream_synchronize(stream, true);
}

static int stream_query(void *handle, bool per_thread)
{
	struct cuda_stream *s;
	int rc = cuda_stream_find(handle, per_thread, &s);

	if (!rc)
		rc = cuda_capture_allows_wait(s);
	return rc ? rc : cuda_reached(s->context, cuda_stream_end(s));
}

EXPORT int cuStreamQuery(void *stream)
{
	return stream_query(stream, false);
}

EXPORT int cuStreamQuery_ptsz(void *stream)
{
	return stream_query(stream, true);
}

bool cuda_event_is(const struct cuda_event *e)
{
	return cuda_pool_has(&events, e);
}

/* An event of another context: the calling thread waits, which no real driver does. */
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

EXPORT int cuStreamWaitEvent(void *stream, struct cuda_event *e, unsigned flags)
{
	return stream_wait(stream, e, flags, false);
}

EXPORT int cuStreamWaitEvent_ptsz(void *stream, struct cuda_event *e, unsigned flags)
{
	return stream_wait(stream, e, flags, true);
}

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
	vgpu_lock(vgpu_here(), s->context->board);
	rc = s->context->client->error;
	if (!rc) {
		e->context = s->context;
		e->at = at;
		e->at_s = s->context->board->now_s;
		e->seen = false;
		e->capture = 0;
	}
	vgpu_unlock(s->context->board);
	return rc;
}

EXPORT int cuEventRecord(struct cuda_event *e, void *stream)
{
	return event_record(e, stream, false);
}

EXPORT int cuEventRecord_ptsz(struct cuda_event *e, void *stream)
{
	return event_record(e, stream, true);
}

/* Events outside of a capture that is going on have no nodes here. */
EXPORT int cuEventRecordWithFlags(struct cuda_event *e, void *stream, unsigned flags)
{
	return flags ? CUDA_INVALID_VALUE : event_record(e, stream, false);
}

EXPORT int cuEventRecordWithFlags_ptsz(struct cuda_event *e, void *stream, unsigned flags)
{
	return flags ? CUDA_INVALID_VALUE : event_record(e, stream, true);
}

/* When an event has come to pass, with the end of the launch before it. */
static void event_see(struct cuda_event *e)
{
	vgpu_lock(vgpu_here(), e->context->board);
	if (!e->seen && e->at.launch)
		e->at_s = fmax(e->at_s, e->context->client->ended_s[(e->at.launch - 1) % VGPU_ENDS]);
	e->seen = true;
	vgpu_unlock(e->context->board);
}

EXPORT int cuEventQuery(struct cuda_event *e)
{
	int rc = cuda_event_is(e) ? cuda_capture_allows_event(e) : CUDA_INVALID_HANDLE;

	if (rc || !e->context)
		return rc;
	rc = cuda_reached(e->context, e->at);
	if (!rc)
		event_see(e);
	return rc;
}

EXPORT int cuEventSynchronize(struct cuda_event *e)
{
	int rc = cuda_event_is(e) ? cuda_capture_allows_event(e) : CUDA_INVALID_HANDLE;

	if (rc || !e->context)
		return rc;
	rc = cuda_await(e->context, e->at);
	if (!rc)
		event_see(e);
	return rc;
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
