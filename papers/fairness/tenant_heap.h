/*
 * tenant_heap.h - tenants with work in the order of their vruntime: a binary heap that knows where
 * each tenant is.
 *
 * Invariant: no key is before its parent; at[keys[i].tenant] is i. Ties go to the lowest tenant.
 * The arrays are the owner's, with room for every tenant. Nothing here allocates.
 */
#ifndef PAPERS_FAIRNESS_TENANT_HEAP_H
#define PAPERS_FAIRNESS_TENANT_HEAP_H

#include <stdint.h>

struct tenant_key {
	double vruntime;
	uint32_t tenant;
};

struct tenant_heap {
	struct tenant_key *keys; /* keys[0] is the first */
	uint32_t *at;            /* by tenant: its place in keys while it is in the heap */
	uint32_t n;
};

/** @return place of the key after the first one; n or more where there is none */
uint32_t tenant_heap_second(const struct tenant_heap *h);

/** @tenant is not in the heap. */
void tenant_heap_push(struct tenant_heap *h, uint32_t tenant, double vruntime);

/** @tenant is in the heap. */
void tenant_heap_remove(struct tenant_heap *h, uint32_t tenant);

/** @tenant is in the heap; @vruntime is at least what it was. */
void tenant_heap_raise(struct tenant_heap *h, uint32_t tenant, double vruntime);

/** Subtract @zero from every vruntime. Tenants may become equal by rounding. */
void tenant_heap_rebase(struct tenant_heap *h, double zero);

#endif
