/*
 * not_held.h - work on a GPU outside of leases: of processes with a context there, if neither they
 * nor those that they were forked from are connected, and of tenants that lost a lease.
 *
 * While there may be such work, nobody knows whose the GPU's time and joules are. A process that is
 * idle does none.
 */
#ifndef HES_ARBITER_NOT_HELD_H
#define HES_ARBITER_NOT_HELD_H

#include "arbiter/connections.h"

#define NOT_HELD_MAX 16 /* processes that are named */

struct not_held {
	struct arbiter_process v[NOT_HELD_MAX]; /* not connected, as of the last look */
	bool again[NOT_HELD_MAX]; /* and in the look before: it is not just starting */
	uint32_t n;
	uint64_t last_ns; /* when there may have been such work; 0: never */
};

/** All processes with a context on @gpu were looked up. */
void not_held_look(struct not_held *o, struct connections *cs, uint32_t gpu,
		   const struct arbiter_process *v, size_t n);
/** @return whether there may be work outside of leases now */
bool not_held_watch(struct not_held *o, const struct connections *cs, uint32_t gpu, uint64_t now);

#endif
