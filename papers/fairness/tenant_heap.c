/*
 * tenant_heap.c - tenants with work in the order of their vruntime; see tenant_heap.h.
 */
#include "tenant_heap.h"

#include <stdbool.h>

/* Without a branch: which of two children is first cannot be predicted. */
static bool key_before(const struct tenant_key *a, const struct tenant_key *b)
{
	return (a->vruntime < b->vruntime) |
	       ((a->vruntime == b->vruntime) & (a->tenant < b->tenant));
}

static void heap_place(struct tenant_heap *h, uint32_t i, struct tenant_key key)
{
	h->keys[i] = key;
	h->at[key.tenant] = i;
}

static void heap_sink(struct tenant_heap *h, uint32_t i)
{
	struct tenant_key key = h->keys[i];

	for (uint32_t child; (child = 2 * i + 1) < h->n; i = child) {
		if (child + 1 < h->n)
			child += key_before(&h->keys[child + 1], &h->keys[child]);
		if (!key_before(&h->keys[child], &key))
			break;
		heap_place(h, i, h->keys[child]);
	}
	heap_place(h, i, key);
}

static void heap_swim(struct tenant_heap *h, uint32_t i)
{
	struct tenant_key key = h->keys[i];

	for (; i && key_before(&key, &h->keys[(i - 1) / 2]); i = (i - 1) / 2)
		heap_place(h, i, h->keys[(i - 1) / 2]);
	heap_place(h, i, key);
}

uint32_t tenant_heap_second(const struct tenant_heap *h)
{
	return h->n > 2 && key_before(&h->keys[2], &h->keys[1]) ? 2 : 1;
}

void tenant_heap_push(struct tenant_heap *h, uint32_t tenant, double vruntime)
{
	heap_place(h, h->n, (struct tenant_key){ vruntime, tenant });
	heap_swim(h, h->n++);
}

void tenant_heap_remove(struct tenant_heap *h, uint32_t tenant)
{
	uint32_t i = h->at[tenant];
	struct tenant_key last = h->keys[--h->n];

	if (i == h->n)
		return;
	heap_place(h, i, last);
	heap_swim(h, i);
	heap_sink(h, h->at[last.tenant]);
}

void tenant_heap_raise(struct tenant_heap *h, uint32_t tenant, double vruntime)
{
	h->keys[h->at[tenant]].vruntime = vruntime;
	heap_sink(h, h->at[tenant]);
}

void tenant_heap_rebase(struct tenant_heap *h, double zero)
{
	for (uint32_t i = 0; i < h->n; i++)
		h->keys[i].vruntime -= zero;
	for (uint32_t i = h->n / 2; i--;)
		heap_sink(h, i);
}
