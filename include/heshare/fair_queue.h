/*
 * fair_queue.h - the run queue of a GPU that tenants share by turns: who is next, for how long, and
 * what each has used.
 *
 * The tenant with the least vruntime is next. It runs for its slice (hes_fair_slices()) or until it
 * has no work. Then it is charged the measured GPU time t: vruntime += t / slice (Eq. 16 of the
 * paper, see heshare/fair.h). So a tenant whose turn was longer than its slice waits longer for the
 * next one. Ties go to the lowest index.
 *
 * Tenants belong to users. The user with the least vruntime is next, and of its tenants the one
 * with the least; both are charged, each for its slice (hes_fair_slices_of_users()).
 *
 * Only tenants with work have slices. A tenant that gets work starts at the minimum vruntime of its
 * user's tenants with work, or at its own if that is greater; so does a user among users. Arrivals,
 * departures and changes take effect at the next pick, which computes the slices again.
 *
 * A queue has no clock and no lock: the caller measures time, and one thread at a time calls. Only
 * hes_fair_queue_create() and hes_fair_queue_add() allocate memory. A function that fails changes
 * nothing.
 */
#ifndef HESHARE_FAIR_QUEUE_H
#define HESHARE_FAIR_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "heshare/fair.h"

#define HES_FAIR_MAX_ITEMS UINT64_C(1000000000000) /* of a tenant */
/* of an interval and of a charge: 11 days */
#define HES_FAIR_MAX_NS UINT64_C(1000000000000000)

struct hes_fair_queue;

struct hes_fair_queue_config {
	const struct hes_fair_policy *policy;
	double phi;          /* 0..1; checked only if the policy uses it */
	uint64_t interval;   /* T, quanta; many more than there are tenants */
	uint64_t quantum_ns; /* at least 1; interval times quantum_ns is HES_FAIR_MAX_NS at most */
};

/** @return 0; -EINVAL a number out of range; -ENOMEM */
int hes_fair_queue_create(const struct hes_fair_queue_config *c, struct hes_fair_queue **out,
			  struct hes_err *err);

/** @param q may be NULL */
void hes_fair_queue_destroy(struct hes_fair_queue *q);

/**
 * Add a tenant of a user, without work.
 * @param user   any number. A user that is not there is added, with weight 1
 * @param t      its power, weight and demand; the demand is at least 1
 * @param tenant its index; that of a removed tenant is used again
 * @return 0; -EINVAL a number out of range; -ENOSPC there are HES_FAIR_MAX_TENANTS tenants, or
 * users with tenants or debts; -ENOMEM
 */
int hes_fair_queue_add(struct hes_fair_queue *q, uint32_t user, const struct hes_fair_tenant *t,
		       uint32_t *tenant, struct hes_err *err);

/**
 * Set the weight of a user, which is added if it is not there. A user without tenants is forgotten
 * with its weight once it has no debt: others with work have used as much of their slices.
 * @return 0; -EINVAL a number out of range; -ENOSPC; -ENOMEM
 */
int hes_fair_queue_set_user(struct hes_fair_queue *q, uint32_t user, double weight,
			    struct hes_err *err);

/** Remove a tenant, its work and its sums. @return 0; -ENOENT no such tenant */
int hes_fair_queue_remove(struct hes_fair_queue *q, uint32_t tenant, struct hes_err *err);

/**
 * Change a tenant's power, weight and demand. This costs as much as a departure and an arrival, so
 * report a running average of power only when it has changed noticeably.
 * @return 0; -ENOENT no such tenant; -EINVAL a number out of range
 */
int hes_fair_queue_change(struct hes_fair_queue *q, uint32_t tenant,
			  const struct hes_fair_tenant *t, struct hes_err *err);

/** @return 0; -EINVAL outside 0..1 */
int hes_fair_queue_set_phi(struct hes_fair_queue *q, double phi, struct hes_err *err);

/**
 * Count items that are added. A tenant has work while an item is not done.
 * @return 0; -ENOENT no such tenant; -EINVAL more than HES_FAIR_MAX_ITEMS would not be done
 */
int hes_fair_queue_submit(struct hes_fair_queue *q, uint32_t tenant, uint64_t items,
			  struct hes_err *err);

/**
 * Count items that have run or were cancelled.
 * @return 0; -ENOENT no such tenant; -EINVAL it has fewer items
 */
int hes_fair_queue_done(struct hes_fair_queue *q, uint32_t tenant, uint64_t items,
			struct hes_err *err);

/** Whose turn it is. */
struct hes_fair_turn {
	uint32_t tenant;
	uint64_t slice; /* quanta, at least 1: one if Algorithm 1 gives none */
	uint64_t slice_ns;
};

/**
 * The tenant that runs next. Until it is charged, or another one gets work, a further pick returns
 * the same tenant. O(n), and after changes a computation of all slices.
 * @return false: no tenant has work
 */
bool hes_fair_queue_pick(struct hes_fair_queue *q, struct hes_fair_turn *out);

/** @return the greatest phi at which energy can be equal between users with work, and between the
 * tenants of each; 1: none has work */
double hes_fair_queue_phi_fair(struct hes_fair_queue *q);

/**
 * Charge the measured time and energy of a turn. A tenant may be charged for its last turn when it
 * has no more work. Charge also the time in which a tenant held the GPU without using it; else it
 * is picked again and again. O(n).
 * @param time_ns  at most HES_FAIR_MAX_NS
 * @param energy_j not negative; for the sums only
 * @return 0; -ENOENT no such tenant; -EINVAL a number out of range, or the tenant never had a slice
 */
int hes_fair_queue_charge(struct hes_fair_queue *q, uint32_t tenant, uint64_t time_ns,
			  double energy_j, struct hes_err *err);

struct hes_fair_usage {
	struct hes_fair_tenant tenant;
	uint64_t time_ns; /* charged since the tenant was added */
	double energy_j;
	uint64_t items;  /* not done */
	uint64_t slice;  /* quanta, at the last pick while the tenant had work; 0: it never had a
			    slice */
	double vruntime; /* slices that it has used; the zero point moves, so only differences
			    between tenants of a user count */
};

/** @return 0; -ENOENT no such tenant */
int hes_fair_queue_usage(const struct hes_fair_queue *q, uint32_t tenant,
			 struct hes_fair_usage *out, struct hes_err *err);

#endif
