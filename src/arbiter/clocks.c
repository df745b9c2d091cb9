/*
 * clocks.c - the SM clock of a GPU; see clocks.h.
 */
#include "arbiter/clocks.h"

#include <errno.h>

/* For the clock to be set; a driver that takes longer sets none any more. */
#define ANSWER_NS     (3 * SECOND)
#define CLOCK_UNKNOWN UINT32_MAX /* after a failure: locked, perhaps */

void clock_ready(struct gpu_clock *c)
{
	c->ready = true;
}

void clock_gone(struct gpu_clock *c)
{
	c->gone = true;
	c->may = false;
	c->tag = 0;
}

bool clock_is(const struct gpu_clock *c, uint32_t mhz)
{
	return !c->ready || !c->may || mhz == c->mhz;
}

static void clock_refuse(struct gpu_clock *c, const char *why)
{
	if (c->may)
		gpu_note(c->out, ARBITER_NO_CLOCKS, c->gpu, why);
	c->may = false;
}

static enum clock_end clock_fail(struct gpu_clock *c, int rc, const char *why)
{
	if (c->may && !c->changes && !c->mhz && (rc == -EPERM || rc == -ENOTSUP)) {
		clock_refuse(c, why);
		return CLOCK_REFUSED;
	}
	c->mhz = CLOCK_UNKNOWN;
	if (!c->fails)
		gpu_note(c->out, ARBITER_CLOCK_FAILED, c->gpu, why);
	c->fails = true;
	return CLOCK_FAILED;
}

static bool clock_try(struct gpu_clock *c, uint32_t mhz, uint64_t now)
{
	const uint64_t tag = ++c->serial;
	const struct arbiter_order o = { .kind = ORDER_CLOCK, .tag = tag, .mhz = mhz };

	if (!c->out->order(c->out->ctx, c->gpu, &o))
		return false;
	c->tag = tag;
	c->wanted = mhz;
	c->deadline_ns = now + ANSWER_NS;
	return true;
}

bool clock_order(struct gpu_clock *c, uint32_t mhz, uint64_t now)
{
	if (clock_try(c, mhz, now))
		return true;
	clock_fail(c, -EAGAIN, "its driver has too much to do");
	return false;
}

bool clock_answered(struct gpu_clock *c, uint64_t tag, int rc, const char *why, enum clock_end *end)
{
	*end = CLOCK_SET;
	if (tag && tag == c->late_tag) {
		c->late_tag = 0;
		return true;
	}
	if (!tag || tag != c->tag)
		return false;
	c->tag = 0;
	if (rc) {
		*end = clock_fail(c, rc, why);
		return true;
	}
	c->mhz = c->wanted;
	c->changes++;
	c->fails = false;
	return true;
}

bool clock_expire(struct gpu_clock *c, uint64_t now)
{
	bool may = c->may;

	if (!c->tag || now < c->deadline_ns)
		return false;
	c->late_tag = c->tag;
	c->tag = 0;
	c->mhz = CLOCK_UNKNOWN;
	clock_refuse(c, "the driver took too long to set a clock");
	return may;
}

void clock_rest(struct gpu_clock *c, bool requested, uint64_t now)
{
	if (c->mhz && !c->tag && !c->late_tag && !c->gone && !requested)
		clock_try(c, 0, now);
}
