/*
 * long_turns.h - turns that are long enough to measure a tenant whose power is not known, and how
 * they are paid back.
 *
 * A long turn lasts up to five refreshes of the sensor. It is shorter where a tenant would wait
 * longer than that, or than two intervals, whichever is longer. After it, those that waited have
 * their turns in the order in which they came; so a tenant's first turn is not long.
 *
 * The time beyond the slice is a loan; so is that of a turn whose slice became shorter, because
 * others came, while it lasted. Until it is paid back the tenant's turns are short, a part
 * of its slice, and its use of them is charged as if they were whole ones; no other tenant of the
 * GPU has a long turn meanwhile. So others lack no more than one loan at a time.
 */
#ifndef HES_ARBITER_LONG_TURNS_H
#define HES_ARBITER_LONG_TURNS_H

#include "arbiter/readings.h"
#include "arbiter/tenants.h"

/** Of a GPU. */
struct long_turns {
	const struct arbiter_config *c;
	struct tenants *tenants;
	const struct readings *readings;
	uint32_t gpu;
	uint64_t after_ns; /* until then no turn is long */
	uint64_t vain_ns;  /* since when there was no room for one; 0: there was */
	uint64_t round_ns; /* start of the last one, while the round after it lasts; 0: it does not
			    */
};

/** The tenant has its turn, and others wait. @return how long it may be to measure the tenant;
 * @slice_ns: no longer than its slice */
uint64_t long_turn_ns(struct long_turns *lt, struct tenant *t, uint64_t slice_ns, uint64_t now);
/** @return the tenant that is next in the round after a long turn; NONE: the queue says who is */
uint32_t long_turn_next(struct long_turns *lt);

/** A turn has ended, @ns beyond a slice. */
void loan_give(struct long_turns *lt, struct tenant *t, uint64_t ns, uint64_t now);
/** @return how long the tenant's turn may be: a part of its slice while it pays a loan back */
uint64_t loan_turn_ns(const struct tenant *t, uint64_t slice_ns, uint64_t now);
/** @return what is charged in addition for @used_ns of this short turn */
uint64_t loan_paid_ns(uint64_t used_ns);
/** Charge what is left of a loan: the tenant leaves, or lost its lease. */
void loan_end(const struct long_turns *lt, struct tenant *t, uint64_t now);

#endif
