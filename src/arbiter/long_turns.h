/*
 * long_turns.h - turns that are long enough to measure a tenant whose power is not known, and how
 * they are paid back.
 *
 * A long turn lasts up to five refreshes of the sensor. It is shorter where a tenant would wait
 * longer than that, or than two intervals, whichever is longer. After it, those that waited have
 * their turns in the order in which they came; so a tenant's first turn is not long.
 *
 * The time beyond the slice is a loan; so is that of a turn whose slice became shorter, because
 * others came, while it lasted. While it has a loan, a tenant's turns are short, a part of its
 * slice, but charged as whole ones until the loan is paid; and no other tenant of the GPU has a
 * long turn. So others lack no more than one loan at a time. A loan is forgotten as time passes in
 * which no other tenant waits.
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
	uint64_t retry_ns;         /* until then no turn is long */
	uint64_t no_room_since_ns; /* since when there was no room for one; 0: there was */
	uint64_t round_ns; /* start of the last one, while the round after it lasts; 0: it does not
			    */
};

/** The tenant has its turn, and others wait. @return how long it may be to measure the tenant;
 * @slice_ns: no longer than its slice */
uint64_t long_turn_ns(struct long_turns *lt, struct tenant *t, uint64_t slice_ns, uint64_t now);
/** @return the tenant that is next in the round after a long turn; NONE: the queue says who is */
uint32_t long_turn_next(struct long_turns *lt);

/** @return how long the tenant's turn may be: a part of its slice while it has a loan */
uint64_t loan_turn_ns(const struct tenant *t, uint64_t slice_ns);
/** The tenant has used @ns of a short turn. @return what is charged in addition */
uint64_t loan_pay(struct tenant *t, uint64_t ns);
/** Charge what is left of a loan: the tenant leaves, or lost its lease. */
void loan_end(const struct long_turns *lt, struct tenant *t);

#endif
