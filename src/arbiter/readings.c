/*
 * readings.c - energy of leases by the GPU's counter, where they are long enough for its sensor.
 *
 * Until a reading comes, energy is the tenant's power times its time. A reading replaces what was
 * estimated since the last one. Readings are requested and come later. A tag names the lease and
 * which of its ends a reading is for.
 */
#include <math.h>

#include "arbiter/arbiter_state.h"

#define LEAST_PART_NS (500 * MS)

enum { READ_START, READ_PART, READ_END, READ_KINDS };

void tenant_add_energy(const struct arbiter *a, struct tenant *t, double joules, uint64_t now)
{
	struct recent *r = tenant_recent(a, t, now);

	t->energy_j = fmax(t->energy_j + joules, 0);
	r->energy_j = fmax(r->energy_j + joules, 0);
}

static bool counter_read(struct arbiter *a, const struct gpu *g, uint64_t lease, unsigned kind)
{
	return g->refresh_ns && !g->gone &&
	       a->out.read_energy(a->out.ctx, (size_t)(g - a->gpus), lease * READ_KINDS + kind);
}

void lease_read_start(struct arbiter *a, struct gpu *g)
{
	struct lease *l = &g->lease;

	if (!g->refresh_ns || (l->slice_ns && l->slice_ns < MEASURABLE * g->refresh_ns))
		return;
	if (counter_read(a, g, l->number, READ_START))
		l->next_read_ns = l->granted_ns + g->part_ns;
}

void lease_read_part(struct arbiter *a, struct gpu *g, uint64_t now)
{
	lease_account(a, g, now);
	g->lease.next_read_ns =
		counter_read(a, g, g->lease.number, READ_PART) ? now + g->part_ns : ARBITER_NEVER;
}

void lease_read_end(struct arbiter *a, struct gpu *g, uint64_t held_ns)
{
	const struct lease *l = &g->lease;
	struct tenant *t = &a->tenants[l->tenant];
	struct lease_tail *tail = &g->tails[g->next_tail];
	bool measured = l->metered && held_ns >= MEASURABLE * g->refresh_ns &&
			counter_read(a, g, l->number, READ_END);

	t->source = measured         ? FAIR_POWER_MEASURED
		    : t->power_known ? FAIR_POWER_PROFILED
				     : FAIR_POWER_ASSUMED;
	g->by_source[t->source]++;
	if (!measured)
		return;
	*tail = (struct lease_tail){ l->number,     t->came,       l->tenant,    l->counter_j,
				     l->estimate_j, l->counter_ns, l->first_part };
	g->next_tail = (g->next_tail + 1) % ENDS;
}

static void reading_of_lease(struct arbiter *a, struct gpu *g, double joules, uint64_t at_ns,
			     uint64_t now)
{
	struct lease *l = &g->lease;
	struct tenant *t = &a->tenants[l->tenant];
	double more = joules - l->counter_j;
	uint64_t ns = at_ns > l->counter_ns ? at_ns - l->counter_ns : 0;

	if (l->metered && (ns < MEASURABLE * g->refresh_ns || more < 0))
		return;
	if (l->metered) {
		lease_account(a, g, now);
		tenant_add_energy(a, t, more - l->estimate_j, now);
		t->source = FAIR_POWER_MEASURED;
		power_measured(a, g, t, more / ((double)ns * 1e-9), ns, l->first_part);
		l->first_part = false;
		l->estimate_j = 0;
	}
	l->metered = true;
	l->counter_j = joules;
	l->counter_ns = at_ns;
}

static void reading_of_tail(struct arbiter *a, struct gpu *g, uint64_t lease, double joules,
			    uint64_t at_ns, uint64_t now)
{
	for (size_t i = 0; i < ENDS; i++) {
		struct lease_tail *e = &g->tails[i];
		struct tenant *t = &a->tenants[e->tenant];
		double more = joules - e->counter_j;

		if (!e->number || e->number != lease)
			continue;
		if (t->used && t->came == e->came && more >= 0) {
			tenant_add_energy(a, t, more - e->estimate_j, now);
			/* There is no other measurement of leases that are shorter than a part. */
			if (e->whole && at_ns > e->counter_ns)
				power_measured(a, g, t,
					       more / ((double)(at_ns - e->counter_ns) * 1e-9),
					       at_ns - e->counter_ns, false);
		}
		e->number = 0;
	}
}

void arbiter_energy(struct arbiter *a, size_t gpu, uint64_t tag, double joules, uint64_t at_ns,
		    uint64_t now)
{
	struct gpu *g = &a->gpus[gpu];
	uint64_t lease = tag / READ_KINDS;

	if (!(joules >= 0) || !isfinite(joules) || g->gone)
		return;
	if (!g->counted)
		g->first_j = joules;
	g->counted = true;
	g->last_j = joules;
	if (lease && tag % READ_KINDS == READ_END)
		reading_of_tail(a, g, lease, joules, at_ns, now);
	else if (lease && lease == g->lease.number)
		reading_of_lease(a, g, joules, at_ns, now);
	arbiter_settle(a, now);
}

void arbiter_gpu_ready(struct arbiter *a, size_t gpu, uint64_t refresh_ns, uint64_t now)
{
	struct gpu *g = &a->gpus[gpu];

	g->ready = true;
	g->refresh_ns = refresh_ns;
	g->part_ns =
		MEASURABLE * refresh_ns > LEAST_PART_NS ? MEASURABLE * refresh_ns : LEAST_PART_NS;
	lease_renew(a, g, now);
	arbiter_settle(a, now);
}

void arbiter_gpu_gone(struct arbiter *a, size_t gpu, const char *why, uint64_t now)
{
	struct gpu *g = &a->gpus[gpu];
	const struct arbiter_note n = { ARBITER_GPU_GONE, gpu, 0, 0, "", why, 0 };

	if (g->gone)
		return;
	g->gone = true;
	g->refresh_ns = 0;
	g->clocks = false;
	g->clock_tag = 0;
	g->lease.next_read_ns = ARBITER_NEVER;
	a->out.note(a->out.ctx, &n);
	arbiter_settle(a, now);
}
