/*
 * clocks.c - the clock of a GPU follows the tenant that runs; it is set before the tenant's lease
 * begins.
 *
 * A lock is remembered until the driver has confirmed the unlock. A failed lock or unlock is tried
 * again each second. Without permission to set clocks, the first attempt fails and no clock is set
 * after it.
 */
#include <errno.h>

#include "arbiter/arbiter_state.h"

#define ANSWER_NS \
	(3 * SECOND) /* for the clock to be set; a driver that takes longer sets none any more */
#define CLOCK_UNKNOWN UINT32_MAX /* after a failure: locked, perhaps */

static bool clock_order(struct arbiter *a, struct gpu *g, uint32_t mhz, uint64_t now)
{
	uint64_t tag = ++a->serial;

	if (!a->out.set_clock(a->out.ctx, (size_t)(g - a->gpus), tag, mhz))
		return false;
	g->clock_tag = tag;
	g->clock_wanted = mhz;
	g->clock_deadline_ns = now + ANSWER_NS;
	return true;
}

static void clock_say(struct arbiter *a, const struct gpu *g, enum arbiter_note_kind kind,
		      const char *why)
{
	const struct arbiter_note n = { kind, (size_t)(g - a->gpus), 0, 0, "", why, 0 };

	a->out.note(a->out.ctx, &n);
}

static void clocks_refuse(struct arbiter *a, struct gpu *g, const char *why)
{
	if (!g->clocks)
		return;
	g->clocks = false;
	clock_say(a, g, ARBITER_NO_CLOCKS, why);
	/* From here on tenants run at the driver's clock, and their powers are those. */
	for (uint32_t i = 0; i < a->n_tenants; i++)
		if (a->tenants[i].used && &a->gpus[a->tenants[i].gpu] == g &&
		    a->tenants[i].clock_mhz)
			power_look_up(a, &a->tenants[i]);
	powers_assume(a, g);
}

void clock_expire(struct arbiter *a, struct gpu *g)
{
	g->late_tag = g->clock_tag;
	g->clock_tag = 0;
	g->clock_mhz = CLOCK_UNKNOWN;
	clocks_refuse(a, g, "the driver took too long to set a clock");
}

/* The tenant that waits for its clock runs without it for a while. */
static void clock_fail(struct arbiter *a, struct gpu *g, int rc, const char *why, uint64_t now)
{
	if (g->clocks && !g->clock_changes && !g->clock_mhz && (rc == -EPERM || rc == -ENOTSUP)) {
		clocks_refuse(a, g, why);
		return;
	}
	g->clock_mhz = CLOCK_UNKNOWN;
	if (g->clocks && g->switching != NONE)
		a->tenants[a->connections[g->switching].tenant].clock_retry_ns = now + SECOND;
	if (!g->clock_fails)
		clock_say(a, g, ARBITER_CLOCK_FAILED, why);
	g->clock_fails = true;
}

bool clock_is_ready(struct arbiter *a, struct gpu *g, const struct tenant *t, uint64_t now)
{
	if (!g->ready || !g->clocks || t->clock_mhz == g->clock_mhz || now < t->clock_retry_ns)
		return true;
	if (clock_order(a, g, t->clock_mhz, now))
		return false;
	clock_fail(a, g, -EAGAIN, "its driver has too much to do", now);
	return true;
}

void arbiter_clock_set(struct arbiter *a, size_t gpu, uint64_t tag, int rc, const char *why,
		       uint64_t now)
{
	struct gpu *g = &a->gpus[gpu];
	bool late = tag == g->late_tag;

	if (!tag || (tag != g->clock_tag && !late))
		return;
	if (late)
		g->late_tag = 0;
	else
		g->clock_tag = 0;
	if (late) {
		clock_rest(a, g, now);
	} else if (rc) {
		clock_fail(a, g, rc, why, now);
	} else {
		g->clock_mhz = g->clock_wanted;
		g->clock_changes++;
		g->clock_fails = false;
		/* The one that it was set for may have gone. */
		clock_rest(a, g, now);
	}
	arbiter_settle(a, now);
}

/* @return whether clocks are set on the GPU and one of its tenants has one */
static bool clock_is_requested(const struct arbiter *a, const struct gpu *g)
{
	for (uint32_t i = 0; g->clocks && i < a->n_tenants; i++)
		if (a->tenants[i].used && a->tenants[i].n && &a->gpus[a->tenants[i].gpu] == g &&
		    a->tenants[i].clock_mhz)
			return true;
	return false;
}

void clock_rest(struct arbiter *a, struct gpu *g, uint64_t now)
{
	if (g->clock_mhz && !g->clock_tag && !g->late_tag && !g->gone && !clock_is_requested(a, g))
		clock_order(a, g, 0, now);
}

void clock_try_again(struct arbiter *a, struct gpu *g, uint64_t now)
{
	uint64_t retry = g->lease.number ? a->tenants[g->lease.tenant].clock_retry_ns : 0;

	clock_rest(a, g, now);
	if (!retry || now < retry)
		return;
	a->tenants[g->lease.tenant].clock_retry_ns = 0;
	lease_renew(a, g, now);
}
