/*
 * readings.c - joules of leases by the GPU's energy counter; see readings.h.
 */
#include "arbiter/readings.h"

#include <math.h>

#define MEASURABLE    5 /* refreshes of the sensor: a shorter lease is not measured */
#define LEAST_PART_NS (500 * MS)

enum { READ_START, READ_PART, READ_END, READ_KINDS };

void readings_create(struct readings *r, const struct arbiter_out *out, size_t gpu)
{
	*r = (struct readings){ .out = out, .gpu = gpu, .next_ns = ARBITER_NEVER };
}

void readings_ready(struct readings *r, uint64_t refresh_ns)
{
	const uint64_t part_ns = MEASURABLE * refresh_ns;

	r->refresh_ns = refresh_ns;
	r->part_ns = part_ns > LEAST_PART_NS ? part_ns : LEAST_PART_NS;
}

void readings_gone(struct readings *r)
{
	r->gone = true;
	r->refresh_ns = 0;
	r->next_ns = ARBITER_NEVER;
}

static bool counter_read(const struct readings *r, uint64_t tag)
{
	return r->refresh_ns && r->out->read_energy(r->out->ctx, r->gpu, tag);
}

void readings_request(const struct readings *r)
{
	counter_read(r, 0);
}

void readings_begin(struct readings *r, uint64_t lease, uint32_t tenant, uint64_t came,
		    uint64_t slice_ns, uint64_t now)
{
	r->now = (struct metered){ .lease = lease, .tenant = tenant, .came = came, .whole = true };
	r->next_ns = ARBITER_NEVER;
	if (slice_ns && slice_ns < MEASURABLE * r->refresh_ns)
		return;
	if (counter_read(r, lease * READ_KINDS + READ_START))
		r->next_ns = now + r->part_ns;
}

void readings_part(struct readings *r, uint64_t now)
{
	bool is = counter_read(r, r->now.lease * READ_KINDS + READ_PART);

	r->next_ns = is ? now + r->part_ns : ARBITER_NEVER;
}

void readings_estimate(struct readings *r, double joules)
{
	r->now.estimate_j += joules;
}

bool readings_end(struct readings *r, uint64_t held_ns)
{
	bool is = r->now.begun && held_ns >= MEASURABLE * r->refresh_ns &&
		  counter_read(r, r->now.lease * READ_KINDS + READ_END);

	if (is) {
		r->tails[r->next_tail] = r->now;
		r->next_tail = (r->next_tail + 1) % ENDS;
	}
	r->now.lease = 0;
	r->next_ns = ARBITER_NEVER;
	return is;
}

bool readings_are_of_now(const struct readings *r, uint64_t tag)
{
	return r->now.lease && tag / READ_KINDS == r->now.lease && tag % READ_KINDS != READ_END;
}

static struct reading reading_of(const struct metered *m, double joules, uint64_t at_ns)
{
	struct reading out = {
		m->tenant, m->came, joules - m->counter_j - m->estimate_j, at_ns > m->counter_ns, 0,
		0,         m->whole
	};

	if (out.has_power) {
		out.ns = at_ns - m->counter_ns;
		out.watts = (joules - m->counter_j) / ((double)out.ns * 1e-9);
	}
	return out;
}

static bool reading_of_now(struct readings *r, double joules, uint64_t at_ns, struct reading *out)
{
	struct metered *m = &r->now;
	uint64_t ns = at_ns > m->counter_ns ? at_ns - m->counter_ns : 0;
	bool is = m->begun;

	if (is && (ns < MEASURABLE * r->refresh_ns || joules < m->counter_j))
		return false;
	if (is) {
		*out = reading_of(m, joules, at_ns);
		m->whole = false;
	}
	m->estimate_j = 0;
	m->begun = true;
	m->counter_j = joules;
	m->counter_ns = at_ns;
	return is;
}

static bool reading_of_tail(struct readings *r, uint64_t lease, double joules, uint64_t at_ns,
			    struct reading *out)
{
	struct metered *m = NULL;

	for (size_t i = 0; i < ENDS; i++)
		if (r->tails[i].lease == lease)
			m = &r->tails[i];
	if (!m)
		return false;
	m->lease = 0;
	*out = reading_of(m, joules, at_ns);
	/* There is no other measurement of leases that are shorter than a part. */
	out->has_power &= m->whole;
	out->first_part = false;
	return joules >= m->counter_j;
}

bool readings_take(struct readings *r, uint64_t tag, double joules, uint64_t at_ns,
		   struct reading *out)
{
	if (!(joules >= 0) || !isfinite(joules) || r->gone)
		return false;
	if (!r->counted)
		r->first_j = joules;
	r->counted = true;
	r->last_j = joules;
	if (tag / READ_KINDS && tag % READ_KINDS == READ_END)
		return reading_of_tail(r, tag / READ_KINDS, joules, at_ns, out);
	return readings_are_of_now(r, tag) && reading_of_now(r, joules, at_ns, out);
}
