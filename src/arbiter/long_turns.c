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
	const uint64_t two = 2 * interval_ns(lt);

	return two > longest_ns(lt) ? two : longest_ns(lt);
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
		const uint64_t wait = now - t->waits_ns + ahead_ns;

		longest = wait > longest ? wait : longest;
		ahead_ns += tenant_slice_ns(lt->tenants, t);
	}
	return longest;
}

/* @return whether others that wait, and are to be measured, had fewer long turns */
static bool others_come_first(const struct long_turns *lt, const struct tenant *t)
{
	const struct tenants *ts = lt->tenants;

	for (const struct tenant *o = ts->v; o < ts->v + ts->n; o++)
		if (tenant_waits(lt, o) && o->leases && power_is_missing(&o->power) &&
		    o->long_turns < t->long_turns)
			return true;
	return false;
}

uint64_t long_turn_ns(struct long_turns *lt, struct tenant *t, uint64_t slice_ns, uint64_t now)
{
	const uint64_t least = readings_least_ns(lt->readings);
	uint64_t before, ns;

	if (!t->leases || now < lt->after_ns || others_come_first(lt, t))
		return slice_ns;
	before = line_wait(lt, now) + interval_ns(lt) / DELAY_PART;
	ns = bound_ns(lt) > before ? bound_ns(lt) - before : 0;
	/* Rounds that never leave room would leave tenants unmeasured. */
	if (ns < least && lt->vain_ns && now - lt->vain_ns > lt->c->profile_ns)
		ns = least;
	ns = ns < longest_ns(lt) ? ns : longest_ns(lt);
	if (ns < least || ns <= slice_ns) {
		lt->after_ns = now + interval_ns(lt);
		lt->vain_ns = lt->vain_ns ? lt->vain_ns : now;
		return slice_ns;
	}
	t->long_turns++;
	lt->vain_ns = 0;
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

static uint64_t loan_left(const struct loan *o, uint64_t now)
{
	return now >= o->until_ns ? 0
				  : (uint64_t)((double)o->ns * (double)(o->until_ns - now) /
					       (double)(o->until_ns - o->from_ns));
}

void loan_give(struct long_turns *lt, struct tenant *t, uint64_t ns, uint64_t now)
{
	const uint64_t sum = ns + loan_left(&t->loan, now);
	const double turns = (double)sum / (double)tenant_slice_ns(lt->tenants, t);
	const double pays_ns = turns * (double)interval_ns(lt) * SHORT_PART / (SHORT_PART - 1.0);

	t->loan = (struct loan){ sum, now, now + (uint64_t)pays_ns };
	lt->after_ns = t->loan.until_ns > lt->after_ns ? t->loan.until_ns : lt->after_ns;
}

static void loan_charge(const struct long_turns *lt, const struct tenant *t, uint64_t ns)
{
	hes_fair_queue_charge(lt->tenants->turns[lt->gpu].queue, t->queue, ns, 0, NULL);
}

uint64_t loan_turn_ns(const struct tenant *t, uint64_t slice_ns, uint64_t now)
{
	return now < t->loan.until_ns ? slice_ns / SHORT_PART : slice_ns;
}

uint64_t loan_paid_ns(uint64_t used_ns)
{
	return (SHORT_PART - 1) * used_ns;
}

void loan_end(const struct long_turns *lt, struct tenant *t, uint64_t now)
{
	loan_charge(lt, t, loan_left(&t->loan, now));
	t->loan.until_ns = 0;
}
