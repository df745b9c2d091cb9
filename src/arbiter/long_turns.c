/*
 * long_turns.c - turns that are long enough to measure a tenant; see long_turns.h.
 */
#include "arbiter/long_turns.h"

#define SHORT_PART 8 /* a short turn is this part of a slice */
#define DELAY_PART 8 /* of an interval: delays between the turns of a round */

static uint64_t interval_ns(const struct long_turns *lt)
{
	return lt->c->queue.interval * lt->c->queue.quantum_ns;
}

static uint64_t longest_ns(const struct long_turns *lt)
{
	return MEASURABLE * lt->readings->refresh_ns;
}

/* @return how long a tenant may wait because another one is measured */
static uint64_t bound_ns(const struct long_turns *lt)
{
	return greater_ns(2 * interval_ns(lt), longest_ns(lt));
}

static bool tenant_waits(const struct long_turns *lt, const struct tenant *t)
{
	return t->used && t->gpu == lt->gpu && t->waiting;
}

static bool came_before(const struct tenant *x, const struct tenant *y)
{
	return x->waits_ns != y->waits_ns ? x->waits_ns < y->waits_ns : x < y;
}

/* @return the first of those that wait behind @last, NULL: of all; NULL: there is none. One that
 * waits for longer at @now than anybody may has debts, and does not count. */
static const struct tenant *line_next(const struct long_turns *lt, const struct tenant *last,
				      uint64_t now)
{
	const struct tenants *ts = lt->tenants;
	const struct tenant *first = NULL;

	for (const struct tenant *t = ts->v; t < ts->v + ts->n; t++)
		if (tenant_waits(lt, t) && t->waits_ns + bound_ns(lt) >= now &&
		    (!last || came_before(last, t)) && (!first || came_before(t, first)))
			first = t;
	return first;
}

/* @return the longest wait if all that wait had their turns from now on, in line. Those that come
 * meanwhile have theirs within an interval. */
static uint64_t line_wait(const struct long_turns *lt, uint64_t now)
{
	uint64_t ahead_ns = 0, longest = interval_ns(lt);

	for (const struct tenant *t = line_next(lt, NULL, now); t; t = line_next(lt, t, now)) {
		longest = greater_ns(longest, now - t->waits_ns + ahead_ns);
		ahead_ns += tenant_slice_ns(lt->tenants, t) + t->overrun_ns;
	}
	return longest;
}

/* @return whether one of the others that wait has a loan, or is to be measured and had fewer long
 * turns */
static bool others_come_first(const struct long_turns *lt, const struct tenant *t)
{
	const struct tenants *ts = lt->tenants;

	for (const struct tenant *o = ts->v; o < ts->v + ts->n; o++)
		if (tenant_waits(lt, o) &&
		    (o->loan_ns ||
		     (o->leases && power_is_missing(&o->power) && o->long_turns < t->long_turns)))
			return true;
	return false;
}

uint64_t long_turn_ns(struct long_turns *lt, struct tenant *t, uint64_t slice_ns, uint64_t now)
{
	const uint64_t least = readings_least_ns(lt->readings);
	uint64_t before, ns;

	if (!t->leases || now < lt->retry_ns || others_come_first(lt, t))
		return slice_ns;
	before = line_wait(lt, now) + t->overrun_ns + interval_ns(lt) / DELAY_PART;
	ns = beyond_ns(bound_ns(lt), before);
	/* Rounds that never leave room would leave tenants unmeasured. */
	if (ns < least && lt->no_room_since_ns && now - lt->no_room_since_ns > lt->c->profile_ns)
		ns = least;
	ns = lesser_ns(ns, longest_ns(lt));
	if (ns < least || ns <= slice_ns) {
		lt->retry_ns = now + interval_ns(lt);
		lt->no_room_since_ns = lt->no_room_since_ns ? lt->no_room_since_ns : now;
		return slice_ns;
	}
	t->long_turns++;
	lt->no_room_since_ns = 0;
	lt->round_ns = now + ns;
	return ns;
}

uint32_t long_turn_next(struct long_turns *lt)
{
	const struct tenant *t = lt->round_ns ? line_next(lt, NULL, lt->round_ns) : NULL;

	if (t && t->waits_ns <= lt->round_ns)
		return (uint32_t)(t - lt->tenants->v);
	lt->round_ns = 0;
	return NONE;
}

uint64_t loan_turn_ns(const struct tenant *t, uint64_t slice_ns)
{
	return t->loan_ns ? slice_ns / SHORT_PART : slice_ns;
}

uint64_t loan_pay(struct tenant *t, uint64_t ns)
{
	const uint64_t pays = lesser_ns(ns * (SHORT_PART - 1), t->loan_ns);

	t->loan_ns -= pays;
	return pays;
}

void loan_end(const struct long_turns *lt, struct tenant *t)
{
	hes_fair_queue_charge(lt->tenants->turns[lt->gpu].queue, t->queue, t->loan_ns, 0, NULL);
	t->loan_ns = 0;
}
