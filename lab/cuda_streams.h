/*
 * cuda_streams.h - streams and events of libcuda's stand-in.
 */
#ifndef VGPU_CUDA_STREAMS_H
#define VGPU_CUDA_STREAMS_H

#include "cuda_handles.h"
#include "cuda_queue.h"

#define CUDA_STREAM_LEGACY     1 /* handles that name a default stream */
#define CUDA_STREAM_PER_THREAD 2
#define CUDA_CAPTURE_STREAMS   24 /* of one capture */

struct cuda_capture;

struct cuda_stream {
	struct cuda_handle handle;
	struct cuda_context *context;
	unsigned flags;
	int priority;
	bool legacy;
	bool blocking; /* waits for the legacy stream, and the legacy stream waits for it */
	struct cuda_position end; /* of its work; guarded by the queue's lock */
	struct cuda_capture
		*capture; /* guarded by the lock of captures; compared with NULL without the lock */
	unsigned place;   /* index in the capture's streams */
};

struct cuda_event {
	struct cuda_handle handle;
	struct cuda_context *context; /* NULL: not recorded yet */
	struct cuda_position at;
	double at_s; /* when it was recorded; if @seen, when it was reached */
	bool seen;
	uint64_t capture; /* id of the capture in which it was last recorded; 0: none */
	uint32_t covers[CUDA_CAPTURE_STREAMS]; /* operations of each of the capture's streams before
						  it */
};

/** The stream of a handle; NULL is the legacy stream, or with @per_thread the thread's own. @return
 * CUresult */
int cuda_stream_find(void *handle, bool per_thread, struct cuda_stream **out);
/** @return whether it is an event's handle */
bool cuda_event_is(const struct cuda_event *e);
/** Open the legacy stream of a context; close all of its streams. */
struct cuda_stream *cuda_stream_legacy(struct cuda_context *c);
void cuda_streams_close(struct cuda_context *c);

#endif
