/*
 * cuda_handles.h - pools of handles of libcuda's stand-in: streams, events, graphs.
 *
 * The memory of a pool stays mapped for the life of the process, so that any pointer from a program
 * can be checked. A destroyed handle is reused only after many others.
 */
#ifndef VGPU_CUDA_HANDLES_H
#define VGPU_CUDA_HANDLES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** First member of every object of a pool. */
struct cuda_handle {
	uint32_t live;
	uint32_t next; /* the next destroyed object, counted from 1; 0: none */
};

struct cuda_pool {
	size_t bytes; /* of an object */
	uint32_t most;
	pthread_mutex_t lock; /* guards what follows */
	char *base;
	uint32_t used; /* objects ever handed out */
	uint32_t oldest, newest,
		waiting; /* destroyed objects: first and last of them, and how many */
};

#define CUDA_POOL(type, n)                                                            \
	{                                                                             \
		.bytes = sizeof(type), .most = (n), .lock = PTHREAD_MUTEX_INITIALIZER \
	}

/** @return a cleared object, live; NULL: no memory or too many */
void *cuda_pool_take(struct cuda_pool *p);
void cuda_pool_give(struct cuda_pool *p, void *object);
/** @return whether @object, which may be any pointer, is a live object of the pool */
bool cuda_pool_has(const struct cuda_pool *p, const void *object);
/** @return the next live object after @object (NULL: the first); NULL: no more */
void *cuda_pool_next(const struct cuda_pool *p, void *object);

#endif
