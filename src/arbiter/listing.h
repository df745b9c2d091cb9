/*
 * listing.h - answers to STATUS: a message a GPU, one a tenant, and the end.
 */
#ifndef HES_ARBITER_LISTING_H
#define HES_ARBITER_LISTING_H

#include "arbiter/leases.h"

struct listing {
	const struct arbiter_config *c;
	struct connections *connections;
	const struct tenants *tenants;
	struct gpu *gpus;
	uint64_t started_ns;
};

/** A connection sent STATUS. */
void listing_begin(struct listing *l, uint32_t id, uint64_t now);
/** Its socket may have room for more of the answer. */
void listing_go_on(struct listing *l, uint32_t id, uint64_t now);

#endif
