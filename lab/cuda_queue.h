/*
 * cuda_queue.h - the operations of a context in order: launches on the virtual GPU, and effects in
 * this process.
 *
 * The virtual GPU is in shared memory and knows only launches with durations. The effect of a
 * launch, copy or host function is executed by this process, in order, once the launches before it
 * have ended on the GPU. Host functions run on a thread of the context, all other effects on the
 * thread that waits or queries.
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

/** A position in a context's work: numbers of a launch and of an operation, both counted from 1. */
struct cuda_position {
	uint64_t launch, op;
};

enum cuda_effect {
	CUDA_NO_EFFECT,
	CUDA_COPY,    /* to, from, bytes */
	CUDA_SET,     /* to, value, width, bytes */
	CUDA_HOST,    /* function, data */
	CUDA_COMPUTE, /* kernel, args */
};

struct cuda_op {
	struct vgpu_launch launch; /* left 0: takes no GPU time */
	enum cuda_effect effect;
	uintptr_t to, from;
	size_t bytes;
	uint32_t value, width;
	char *staged; /* a copy of @from at the time of the call; owned by the operation */
	void (*function)(void *data);
	void *data;
	const struct cuda_kernel *kernel;
	uint64_t args[4];
};

struct cuda_pending;

struct cuda_queue {
	pthread_mutex_t
		submit;       /* held while operations are submitted, so that they stay in order */
	pthread_mutex_t lock; /* guards what follows and the ends of the context's streams */
	struct cuda_position blocking,
		legacy; /* end of all blocking streams, and of the legacy stream */
	pthread_cond_t changed;
	struct cuda_pending *first, **last;
	uint64_t submitted, executed; /* numbers of operations */
	uint64_t hosts;               /* waiting host functions */
	size_t waiting;
	bool running; /* a thread executes the first operation */
	bool has_worker, closed;
	pthread_t worker;
};

void cuda_queue_open(struct cuda_context *c);
/** Drop waiting operations. @at_exit: do not wait for host functions that run */
void cuda_queue_close(struct cuda_context *c, bool at_exit);

/** Submit operations to a stream that does not capture. @return CUresult */
int cuda_submit(struct cuda_stream *s, const struct cuda_op *ops, size_t n);

/** The end of a stream's work, with the work that it waits for. */
struct cuda_position cuda_stream_end(struct cuda_stream *s);
/** Let later operations of a stream wait for a position of its context. */
void cuda_stream_after(struct cuda_stream *s, struct cuda_position at);
/** The end of all work of a context so far. */
struct cuda_position cuda_context_end(struct cuda_context *c);

/** @return 0; CUDA_NOT_READY; the context's error */
int cuda_reached(struct cuda_context *c, struct cuda_position at);
/** Wait for a position. @return CUresult */
int cuda_await(struct cuda_context *c, struct cuda_position at);

#endif
