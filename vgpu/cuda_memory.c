/*
 * cuda_memory.c - libcuda's stand-in: device memory, as address space of the process.
 *
 * Pages that nobody touches cost nothing, so the boards' memory may be larger than the machine's.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cuda_stand_in.h"

struct block {
	struct block        *next;
	struct cuda_context *context;
	char                *at;
	size_t               bytes;
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
	rc = cuda_take(&c);
	if (rc)
		return rc;
	rc = cuda_give(c, vgpu_board_allocate(c->board, c->client, bytes));
	if (rc)
		return rc;
	b = calloc(1, sizeof(*b));
	if (b)
		*b = (struct block){ .context = c, .bytes = bytes, .at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
							MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) };
	if (!b || b->at == MAP_FAILED) {
		free(b);
		vgpu_lock(vgpu_here(), c->board);
		vgpu_board_release(c->board, c->client, bytes);
		return cuda_give(c, VGPU_CUDA_OUT_OF_MEMORY);
	}
	pthread_mutex_lock(&lock);
	b->next = blocks;
	blocks = b;
	pthread_mutex_unlock(&lock);
	*out = (uintptr_t)b->at;
	return 0;
}

/* Freeing waits for the work that may still use the memory. */
EXPORT int cuMemFree_v2(uintptr_t p)
{
	struct block **at, *b;
	uint64_t target;

	pthread_mutex_lock(&lock);
	for (at = &blocks; *at && (uintptr_t)(*at)->at != p; at = &(*at)->next)
		;
	b = *at;
	if (b)
		*at = b->next;
	pthread_mutex_unlock(&lock);
	if (!b)
		return p ? CUDA_INVALID_VALUE : 0;
	vgpu_lock(vgpu_here(), b->context->board);
	target = b->context->client->launched;
	vgpu_unlock(b->context->board);
	cuda_wait(b->context, target);
	vgpu_lock(vgpu_here(), b->context->board);
	vgpu_board_release(b->context->board, b->context->client, b->bytes);
	vgpu_unlock(b->context->board);
	munmap(b->at, b->bytes);
	free(b);
	return 0;
}

void cuda_forget_memory(const struct cuda_context *c)
{
	pthread_mutex_lock(&lock);
	for (struct block **at = &blocks, *b; (b = *at); ) {
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
	*total = own->memory_limit ? own->memory_limit : vgpu_board_memory_total(c->board);
	*left = vgpu_board_memory_total(c->board) - vgpu_board_memory_used(c->board);
	if (own->memory_limit && own->memory_limit - own->memory < *left)
		*left = own->memory_limit > own->memory ? own->memory_limit - own->memory : 0;
	return cuda_give(c, 0);
}

/* Copies and fills come after the launches before them. */
static int in_order(void)
{
	struct cuda_context *c;
	uint64_t target;
	int rc = cuda_take(&c);

	if (rc)
		return rc;
	target = c->client->launched;
	cuda_give(c, 0);
	return cuda_wait(c, target);
}

static int copy(void *to, const void *from, size_t bytes)
{
	int rc = in_order();

	if (!rc)
		memmove(to, from, bytes);
	return rc;
}

EXPORT int cuMemcpyHtoD_v2(uintptr_t to, const void *from, size_t bytes)
{
	return copy((void *)to, from, bytes);
}

EXPORT int cuMemcpyDtoH_v2(void *to, uintptr_t from, size_t bytes)
{
	return copy(to, (const void *)from, bytes);
}

EXPORT int cuMemcpyDtoD_v2(uintptr_t to, uintptr_t from, size_t bytes)
{
	return copy((void *)to, (const void *)from, bytes);
}

EXPORT int cuMemsetD8_v2(uintptr_t at, unsigned char value, size_t n)
{
	int rc = in_order();

	if (!rc)
		memset((void *)at, value, n);
	return rc;
}
