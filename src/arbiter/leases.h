/*
 * leases.h - the leases of a GPU: who gets one, for how long, what it is charged, and when it is
 * lost.
 *
 * Leases change the states of connections, and nothing else does. A cell is the state that follows;
 * an empty one changes nothing.
 *
 *             want     grant    over      release  lose  late release  rest
 *   IDLE      WAITING
 *   WAITING            RUNNING                                         IDLE
 *   RUNNING                     DRAINING  WAITING
 *   DRAINING                              WAITING  LOST
 *   LOST                                                 IDLE
 *
 * A release without more work is followed by a rest. A connection is an item of its tenant in
 * the run queue from its want to its rest. A connection that closes is released, then rests.
 *
 * A lease is charged when it ends, and before each change of the order of tenants: a new tenant
 * starts at the least vruntime, which must include the use of the others until then.
 */
#ifndef HES_ARBITER_LEASES_H
#define HES_ARBITER_LEASES_H

#include "arbiter/long_turns.h"
#include "arbiter/not_held.h"

struct lease {
	uint64_t number; /* 0: none */
	uint32_t connection, tenant;
	uint64_t granted_ns;
	uint64_t slice_ns;     /* 0: no end */
	uint64_t stopped_ns;   /* 0: no STOP was sent */
	uint64_t accounted_ns; /* of it, charged and in the sums */
	uint64_t lent_ns;      /* of it, not charged, but to be paid back */
	bool prepared, measured;
	bool is_short; /* it pays a loan back */
};

/** A GPU that is shared. Read its members; leases.c alone changes them. */
struct gpu {
	const struct arbiter_config *c;
	const struct arbiter_out *out;
	struct connections *connections;
	struct tenants *tenants;
	struct arbiter_gpu_config about;
	uint32_t index;
	struct gpu_clock clock;
	struct readings readings;
	struct not_held not_held;
	struct lease lease;
	uint32_t next;             /* connection that PREPARE was sent to; NONE */
	uint32_t switching;        /* connection that waits for the clock; NONE */
	struct hes_fair_turn turn; /* of it */
	uint32_t waiting, wanting; /* connections */
	struct long_turns long_turns;
	uint64_t serial, wanted_since_ns, wanted_ns, used_ns, leases;
};

void gpu_create(struct gpu *g, const struct arbiter_config *c, const struct arbiter_out *out,
		struct connections *cs, struct tenants *ts, uint32_t index);
/** Give the GPU to the next tenant where it is free. @return when to call again; ARBITER_NEVER */
void gpu_schedule(struct gpu *g, uint64_t now);
uint64_t gpu_deadline(const struct gpu *g);
/** Charge what the lease has used until now. */
void gpu_account(struct gpu *g, uint64_t now);

/* Events of a connection of the GPU. */

/** It has work. */
void lease_want(struct gpu *g, uint32_t id, uint64_t now);
void lease_release(struct gpu *g, uint32_t id, const struct fair_release *r, uint64_t now);
/** It is over: its lease, the one that the clock is being set for, and its work. */
void lease_close(struct gpu *g, uint32_t id, uint64_t now);

/* Events of the GPU. */

/** Its thread reports. */
void gpu_report(struct gpu *g, const struct arbiter_report *r, uint64_t now);
/** Let the driver choose the clock where no tenant requests one. */
void gpu_rest_clock(struct gpu *g, uint64_t now);
/** @return whether there may be work outside of leases now; remembers when */
bool gpu_has_other_work(struct gpu *g, uint64_t now);
/** Once a second: clocks that could not be set or unlocked, and the counter for STATUS. */
void gpu_second(struct gpu *g, uint64_t now);

#endif
