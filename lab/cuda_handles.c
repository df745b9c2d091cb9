/*
 * cuda_handles.c - pools of handles; see cuda_handles.h.
 */
#include "cuda_handles.h"

#include <string.h>
#include <sys/mman.h>

#define QUARANTINE 256 /* destroyed objects that are not reused yet */

static struct cuda_handle *handle_at(const struct cuda_pool *p, uint32_t i)
{
	return (struct cuda_handle *)(void *)(p->base + i * p->bytes);
}

static void *handle_reuse(struct cuda_pool *p)
{
	uint32_t i = p->oldest - 1;
	struct cuda_handle *h = handle_at(p, i);

	p->oldest = h->next;
	p->waiting--;
	memset(h, 0, p->bytes);
	return h;
}

void *cuda_pool_take(struct cuda_pool *p)
{
	struct cuda_handle *h = NULL;

	pthread_mutex_lock(&p->lock);
	if (!p->base) {
		void *at = mmap(NULL, p->most * p->bytes, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (at != MAP_FAILED)
			__atomic_store_n(&p->base, (char *)at, __ATOMIC_RELEASE);
	}
	if (p->base && (p->waiting > QUARANTINE || (p->waiting && p->used == p->most)))
		h = handle_reuse(p);
	else if (p->base && p->used < p->most)
		h = handle_at(p, __atomic_fetch_add(&p->used, 1, __ATOMIC_RELEASE));
	if (h)
		__atomic_store_n(&h->live, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&p->lock);
	return h;
}

void cuda_pool_give(struct cuda_pool *p, void *object)
{
	struct cuda_handle *h = object;
	uint32_t number = (uint32_t)((size_t)((char *)object - p->base) / p->bytes) + 1;

	pthread_mutex_lock(&p->lock);
	__atomic_store_n(&h->live, 0, __ATOMIC_RELEASE);
	h->next = 0;
	if (p->waiting++)
		handle_at(p, p->newest - 1)->next = number;
	else
		p->oldest = number;
	p->newest = number;
	pthread_mutex_unlock(&p->lock);
}

bool cuda_pool_has(const struct cuda_pool *p, const void *object)
{
	const char *base = __atomic_load_n(&p->base, __ATOMIC_ACQUIRE);
	size_t from = (uintptr_t)object - (uintptr_t)base;

	if (!base || (uintptr_t)object < (uintptr_t)base || from % p->bytes ||
	    from / p->bytes >= __atomic_load_n(&p->used, __ATOMIC_ACQUIRE))
		return false;
	return __atomic_load_n(&((const struct cuda_handle *)object)->live, __ATOMIC_ACQUIRE);
}

void *cuda_pool_next(const struct cuda_pool *p, void *object)
{
	uint32_t i = object ? (uint32_t)((size_t)((char *)object - p->base) / p->bytes) + 1 : 0;

	for (; i < __atomic_load_n(&p->used, __ATOMIC_ACQUIRE); i++)
		if (__atomic_load_n(&handle_at(p, i)->live, __ATOMIC_ACQUIRE))
			return handle_at(p, i);
	return NULL;
}
