/*
 * cuda_memory.c - libcuda's stand-in: device memory is address space of the process.
 *
 * Pages that are never written take no memory, so the GPUs may have more memory than the machine.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cuda_capture.h"
#include "cuda_stand_in.h"

struct block {
	struct block *next;
	struct cuda_context *context;
	char *at;
	size_t bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static struct block *blocks;

EXPORT int cuMemAlloc_v2(uintptr_t *out, size_t bytes)
{
	struct block *b;
	struct cuda_context *c;
	int rc;

	if (!out || !bytes)
		return CUDA_INVALID_VALUE;
	rc = cuda_capture_allows_unsafe();
	if (!rc)
		rc = cuda_take(&c);
	if (rc)
		return rc;
	rc = cuda_give(c, lab_gpu_allocate(c->gpu, c->client, bytes));
	if (rc)
		return rc;
	b = calloc(1, sizeof(*b));
	if (b)
		*b = (struct block){ .context = c,
				     .bytes = bytes,
				     .at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
						MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
						0) };
	if (!b || b->at == MAP_FAILED) {
		free(b);
		vgpu_lock(vgpu_here(), c->gpu);
		lab_gpu_release(c->gpu, c->client, bytes);
		return cuda_give(c, VGPU_CUDA_OUT_OF_MEMORY);
	}
	pthread_mutex_lock(&lock);
	b->next = blocks;
	blocks = b;
	pthread_mutex_unlock(&lock);
	*out = (uintptr_t)b->at;
	return 0;
}

/* Wait for the work that may still use the memory. */
EXPORT int cuMemFree_v2(uintptr_t p)
{
	struct block **at, *b;
	int rc = cuda_capture_allows_unsafe();

	if (rc)
		return rc;
	pthread_mutex_lock(&lock);
	for (at = &blocks; *at && (uintptr_t)(*at)->at != p; at = &(*at)->next)
		;
	b = *at;
	if (b)
		*at = b->next;
	pthread_mutex_unlock(&lock);
	if (!b)
		return p ? CUDA_INVALID_VALUE : 0;
	cuda_await(b->context, cuda_context_end(b->context));
	vgpu_lock(vgpu_here(), b->context->gpu);
	lab_gpu_release(b->context->gpu, b->context->client, b->bytes);
	vgpu_unlock(b->context->gpu);
	munmap(b->at, b->bytes);
	free(b);
	return 0;
}

bool cuda_memory_holds(uintptr_t at, size_t bytes)
{
	const struct block *b;
	bool holds;

	pthread_mutex_lock(&lock);
	for (b = blocks; b && !(at >= (uintptr_t)b->at && at - (uintptr_t)b->at < b->bytes);
	     b = b->next)
		;
	holds = b && bytes <= b->bytes - (at - (uintptr_t)b->at);
	pthread_mutex_unlock(&lock);
	return holds;
}

void cuda_forget_memory(const struct cuda_context *c)
{
	pthread_mutex_lock(&lock);
	for (struct block **at = &blocks, *b; (b = *at);) {
		if (b->context != c) {
			at = &b->next;
			continue;
		}
		*at = b->next;
		munmap(b->at, b->bytes);
		free(b);
	}
	pthread_mutex_unlock(&lock);
}

EXPORT int cuMemGetInfo_v2(size_t *left, size_t *total)
{
	struct cuda_context *c;
	int rc = left && total ? cuda_take(&c) : CUDA_INVALID_VALUE;
	const struct vgpu_client *own;

	if (rc)
		return rc;
	own = c->client;
	*total = own->memory_limit ? own->memory_limit : lab_gpu_memory_total(c->gpu);
	*left = lab_gpu_memory_total(c->gpu) - lab_gpu_memory_used(c->gpu);
	if (own->memory_limit && own->memory_limit - own->memory < *left)
		*left = own->memory_limit > own->memory ? own->memory_limit - own->memory : 0;
	return cuda_give(c, 0);
}

/* Pinned host memory: in the lab all host memory counts as pinned. */
EXPORT int cuMemAllocHost_v2(void **out, size_t bytes)
{
	struct cuda_context *c;
	int rc = cuda_capture_allows_unsafe();

	if (!rc)
		rc = cuda_current(&c);
	if (rc || !out || !bytes)
		return rc ? rc : CUDA_INVALID_VALUE;
	*out = malloc(bytes);
	return *out ? 0 : VGPU_CUDA_OUT_OF_MEMORY;
}

EXPORT int cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
	(void)flags;
	return cuMemAllocHost_v2(out, bytes);
}

EXPORT int cuMemFreeHost(void *p)
{
	int rc = cuda_capture_allows_unsafe();

	if (!rc)
		free(p);
	return rc;
}
