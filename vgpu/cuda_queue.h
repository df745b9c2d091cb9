/*
 * cuda_queue.h - work of a context in the order it came: what the GPU is asked for, and what the process does itself.
 *
 * The GPU (shared memory) knows launches with durations. What a launch, copy or host function really does is an operation
 * of the process: it is executed once the launches before it have ended on the GPU, one at a time and in order.
 * Host functions run on a thread of the context; all else on whichever thread looks.
 */
#ifndef VGPU_CUDA_QUEUE_H
#define VGPU_CUDA_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "state.h"

struct cuda_context;
struct cuda_stream;
struct cuda_kernel;

/** A moment of a context: launches that have ended on the GPU and operations that were executed, both counted from 1. */
struct cuda_position {
	uint64_t launch, op;
};

enum cuda_effect {
	CUDA_NO_EFFECT,
	CUDA_COPY,      /* to, from, bytes */
	CUDA_SET,       /* to, value, width, bytes */
	CUDA_HOST,      /* function, data */
	CUDA_COMPUTE,   /* kernel, args */
};

struct cuda_op {
	struct vgpu_launch launch;   /* left is 0: no time of the GPU */
	enum cuda_effect   effect;
	uintptr_t          to, from;
	size_t             bytes;
	uint32_t           value, width;
	char              *staged;   /* what @from held when the copy was asked for; the operation owns it */
	void             (*function)(void *data);
	void              *data;
	const struct cuda_kernel *kernel;
	uint64_t           args[4];
};

struct cuda_pending;

struct cuda_queue {
	pthread_mutex_t      submit;  /* held while work is handed over, so that it stays in order */
	pthread_mutex_t      lock;    /* guards what follows and the ends of the context's streams */
	struct cuda_position blocking, legacy; /* end of all blocking streams; of the legacy stream */
	pthread_cond_t       changed;
	struct cuda_pending *first, **last;
	uint64_t             asked, executed; /* operations */
	uint64_t             hosts;   /* host functions that wait */
	size_t               waiting;
	bool                 running; /* somebody executes the first one */
	bool                 has_worker, closed;
	pthread_t            worker;
};

void cuda_queue_open(struct cuda_context *c);
/** Forget what waits. @at_exit: host functions may still be running and are not waited for */
void cuda_queue_close(struct cuda_context *c, bool at_exit);

/** Hand operations over, to a stream that is not capturing. @return CUresult */
int  cuda_submit(struct cuda_stream *s, const struct cuda_op *ops, size_t n);

/** Where a stream ends now, with what it waits for. */
struct cuda_position cuda_stream_end(struct cuda_stream *s);
/** Let what comes later in a stream wait for a position of its context. */
void cuda_stream_after(struct cuda_stream *s, struct cuda_position at);
/** Everything that was asked of a context so far. */
struct cuda_position cuda_context_end(struct cuda_context *c);

/** @return 0; CUDA_NOT_READY; the context's error */
int  cuda_reached(struct cuda_context *c, struct cuda_position at);
/** Wait for a position. @return CUresult */
int  cuda_await(struct cuda_context *c, struct cuda_position at);

#endif
