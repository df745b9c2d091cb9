/*
 * arbiter_state.h - inside of the arbiter: the owners of its state, each with a file of its own,
 * and how they know each other. Only arbiter.c and create.c see them all.
 *
 * Every public call of arbiter.h changes state. Then the marked connections are closed and free
 * GPUs go to the next tenants, so that no connection is closed and no lease granted while a list
 * is read.
 */
#ifndef HES_ARBITER_STATE_H
#define HES_ARBITER_STATE_H

#include "arbiter/listing.h"
#include "arbiter/users.h"

struct arbiter {
	struct arbiter_config c;
	struct arbiter_out out;
	uint64_t next_sweep_ns;
	struct users users;
	struct connections connections;
	struct tenants tenants;
	struct gpu *gpus; /* [c.n_gpus] */
	struct listing listing;
};

#endif
