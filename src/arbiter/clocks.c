/*
 * clocks.c - the clock of a GPU follows the tenant that runs; it is set before the tenant's lease begins.
 */
#include "arbiter/arbiter_state.h"

#define ANSWER_NS (3 * SECOND) /* for the clock to be set; a driver that takes longer sets none any more */

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

void clocks_refuse(struct arbiter *a, struct gpu *g, const char *why)
{
	const struct arbiter_note n = { ARBITER_NO_CLOCKS, (size_t)(g - a->gpus), 0, 0, "", why, 0 };

	g->clock_tag = 0;
	if (!g->clocks)
		return;
	g->clocks = false;
	a->out.note(a->out.ctx, &n);
	/* From here on tenants run at the driver's clock, and their powers are those. */
	for (uint32_t i = 0; i < a->n_tenants; i++)
		if (a->tenants[i].used && &a->gpus[a->tenants[i].gpu] == g && a->tenants[i].clock_mhz)
			power_look_up(a, &a->tenants[i]);
	powers_assume(a, g);
}

bool clock_is_ready(struct arbiter *a, struct gpu *g, const struct tenant *t, uint64_t now)
{
	if (!g->ready || !g->clocks || t->clock_mhz == g->clock_mhz)
		return true;
	if (clock_order(a, g, t->clock_mhz, now))
		return false;
	clocks_refuse(a, g, "nobody can set a clock on it");
	return true;
}

void arbiter_clock_set(struct arbiter *a, size_t gpu, uint64_t tag, int rc, const char *why, uint64_t now)
{
	struct gpu *g = &a->gpus[gpu];

	if (tag != g->clock_tag || !tag)
		return;
	g->clock_tag = 0;
	if (rc) {
		clocks_refuse(a, g, why);
	} else {
		g->clock_mhz = g->clock_wanted;
		g->clock_changes++;
	}
	arbiter_settle(a, now);
}

void clock_rest(struct arbiter *a, struct gpu *g, uint64_t now)
{
	for (uint32_t i = 0; i < a->n_tenants; i++)
		if (a->tenants[i].used && a->tenants[i].n && &a->gpus[a->tenants[i].gpu] == g && a->tenants[i].clock_mhz)
			return;
	if (g->clocks && g->clock_mhz && !g->clock_tag)
		clock_order(a, g, 0, now);
}
