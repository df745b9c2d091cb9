/*
 * readings.c - joules of leases, from the steps of the GPU's energy counter; see readings.h.
 */
#include "arbiter/readings.h"

#include <math.h>

#define CLOSELY    20 /* readings a refresh */
#define ROUGHLY    5
#define QUICKEST   (2 * MS)
#define LONG_NS    (500 * MS) /* a value of a lease without an end, at least */
#define SMEARED_NS SECOND     /* time over which power may be a mean */

void readings_ready(struct readings *r, uint64_t refresh_ns)
{
	r->refresh_ns = refresh_ns;
}

void readings_gone(struct readings *r)
{
	r->gone = true;
	r->refresh_ns = 0;
	r->next_ns = ARBITER_NEVER;
}

static bool counter_read(const struct readings *r, uint64_t tag)
{
	const struct arbiter_order o = { .kind = ORDER_ENERGY, .tag = tag };

	return r->refresh_ns && r->out->order(r->out->ctx, r->gpu, &o);
}

void readings_request(const struct readings *r)
{
	counter_read(r, 0);
}

/* Two steps, wherever the lease begins between two others. */
uint64_t readings_least_ns(const struct readings *r)
{
	return 2 * r->refresh_ns + r->refresh_ns / 8;
}

void readings_begin(struct readings *r, uint64_t lease, uint64_t slice_ns, bool closely,
		    uint64_t now)
{
	const uint64_t most_ns = MEASURABLE * r->refresh_ns;

	r->granted_ns = r->ignore_until_ns = now;
	r->value_ns = closely ? r->refresh_ns : slice_ns ? most_ns : greater_ns(most_ns, LONG_NS);
	r->every_ns = greater_ns(r->refresh_ns / (closely ? CLOSELY : ROUGHLY), QUICKEST);
	r->skips = !closely && !slice_ns;
	r->begun = false;
	r->from.ns = r->to.ns = 0;
	r->next_ns = ARBITER_NEVER;
	r->lease = slice_ns && slice_ns < (closely ? readings_least_ns(r) : most_ns) ? 0 : lease;
	if (r->lease)
		readings_go_on(r, now);
}

void readings_go_on(struct readings *r, uint64_t now)
{
	r->next_ns = counter_read(r, r->lease) ? now + r->every_ns : ARBITER_NEVER;
}

static bool reading_of(struct readings *r, uint64_t least_ns, struct reading *out)
{
	const uint64_t ns = beyond_ns(r->to.ns, r->from.ns);

	if (!r->from.ns || ns < least_ns || !(r->to.joules > r->from.joules))
		return false;
	*out = (struct reading){ (r->to.joules - r->from.joules) / ((double)ns * 1e-9), ns };
	return true;
}

bool readings_end(struct readings *r, struct reading *out)
{
	bool is = r->lease && reading_of(r, r->refresh_ns / 2, out);

	r->lease = 0;
	r->next_ns = ARBITER_NEVER;
	return is;
}

/* Without a counter that can be believed, joules are the integral of power. */
static struct counter_step readings_step(const struct readings *r, const struct arbiter_energy *e)
{
	if (e->step_ns)
		return (struct counter_step){ e->step_j, e->step_ns };
	return (struct counter_step){ e->joules,
				      e->at_ns > r->granted_ns + SMEARED_NS ? e->at_ns : 0 };
}

bool readings_take(struct readings *r, uint64_t tag, const struct arbiter_energy *e,
		   struct reading *out)
{
	struct counter_step step;

	if (!(e->joules >= 0) || !isfinite(e->joules) || r->gone)
		return false;
	if (!r->counted)
		r->first_j = e->joules;
	r->counted = true;
	r->last_j = e->joules;
	if (!tag || tag != r->lease || e->at_ns < r->ignore_until_ns)
		return false;
	step = readings_step(r, e);
	if (!r->begun)
		r->before = step;
	r->begun = true;
	if (!step.ns || step.ns == r->before.ns)
		return false;
	if (!r->from.ns)
		r->from = step;
	r->to = step;
	if (!reading_of(r, r->value_ns - r->refresh_ns / 2, out))
		return false;
	r->from = step;
	if (r->skips) {
		r->begun = false;
		r->next_ns = r->ignore_until_ns = e->at_ns + r->value_ns - r->refresh_ns;
	}
	return true;
}
