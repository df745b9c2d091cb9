/*
 * tenants.h - the tenants of all GPUs, and the run queues that say whose turn it is.
 *
 * A tenant is added at its first connection, and remembered for a while after the last. It keeps
 * its place in the run queue, so that a new connection does not clear its debt. A new name does not
 * either: the queue remembers what users owe to others.
 *
 * Before a call that changes powers, weights or phi, what the lease that runs has used must be
 * charged: slices change with it.
 */
#ifndef HES_ARBITER_TENANTS_H
#define HES_ARBITER_TENANTS_H

#include "arbiter/clocks.h"
#include "arbiter/connections.h"
#include "arbiter/powers.h"
#include "arbiter/readings.h"
#include "arbiter/sums.h"

struct tenant {
	bool used;
	char name[FAIR_NAME_MAX];
	uint32_t uid, pid, gpu;
	uint32_t queue; /* its index in the GPU's run queue */
	uint32_t n;     /* connections */
	double weight;
	bool weight_set; /* by SET: HELLO does not change it */
	uint32_t clock_mhz;
	struct power power;
	uint64_t came_ns, left_ns;
	struct sums sums;

	/* leases.c */
	uint32_t wanting;        /* connections with work */
	uint32_t waiting;        /* of them, those that wait */
	uint64_t waits_ns;       /* since when, where there are some */
	uint32_t long_turns;     /* to be measured */
	uint64_t loan_ns;        /* time beyond its slice that is not paid back */
	uint64_t overrun_ns;     /* its leases end so late: the most lately */
	uint64_t clock_retry_ns; /* its clock could not be set: tried again from then on */
	uint64_t leases, lost;
	enum fair_power_source source; /* of its last lease */
};

/** The tenants of one GPU share by turns. */
struct turns {
	double limit_w; /* power limit of the GPU; 0: not known */
	const struct gpu_clock *clock;
	struct hes_fair_queue *queue;
	uint32_t *by_queue; /* tenant by its index in the queue */
	double phi;
};

/** Read its members; tenants.c alone changes them. */
struct tenants {
	const struct arbiter_config *c;
	const struct arbiter_out *out;
	const struct connections *connections;
	struct tenant *v;
	uint32_t n;          /* places */
	struct turns *turns; /* [c->n_gpus] */
};

/** @return 0; -ENOMEM. Free it in any case. */
int tenants_create(struct tenants *ts, const struct arbiter_config *c,
		   const struct arbiter_out *out, const struct connections *cs, uint32_t n);
void tenants_free(struct tenants *ts);
/** The connection becomes one of a tenant. @return its index; NONE: no room or no memory */
uint32_t tenant_join(struct tenants *ts, struct connection *c, uint32_t gpu,
		     const struct fair_hello *h, uint64_t now);
/** @return whether the connection is one of the tenant */
static inline bool tenant_has(const struct tenants *ts, const struct tenant *t,
			      const struct connection *c)
{
	return c->greeted && c->tenant == (uint32_t)(t - ts->v);
}
/** The connection leaves its tenant. */
void tenant_leave(struct tenants *ts, struct connection *c, uint64_t now);
/** Once a second: forget those that left long ago. */
void tenants_sweep(struct tenants *ts, uint64_t now);
/** Give the store all powers, and all that was used. */
void tenants_keep(struct tenants *ts);

/** @return the tenant whose turn it is; NONE: none has work */
uint32_t tenants_next(const struct tenants *ts, uint32_t gpu, struct hes_fair_turn *turn);
/** @return the tenant's slice, as of the last computation of slices */
uint64_t tenant_slice_ns(const struct tenants *ts, const struct tenant *t);
/** @return the tenant's part of the weights: that of its user, divided between the user's tenants
 * with work */
double tenant_part(const struct tenants *ts, const struct tenant *t);
void tenant_set_weight(struct tenants *ts, struct tenant *t, double weight);
void tenants_set_phi(struct tenants *ts, uint32_t gpu, double phi);
/** @return whether clocks are set on the GPU and one of its tenants has one */
bool tenants_request_clock(const struct tenants *ts, uint32_t gpu);
/** No more clocks are set: powers are those at the driver's clock. */
void tenants_lose_clocks(struct tenants *ts, uint32_t gpu);

/** The store answered. */
void tenants_found(struct tenants *ts, uint32_t gpu, const struct hes_tenant_power *p);
/** A value of its lease was measured, and all energy until @now is estimated. */
void tenant_measured(struct tenants *ts, struct tenant *t, const struct reading *r, uint64_t now);

#endif
