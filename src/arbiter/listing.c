/*
 * listing.c - answers to STATUS; see listing.h. A full socket makes an answer wait for room.
 */
#include "arbiter/listing.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fair/slices.h"

static const struct hes_fairness not_known = { NAN, NAN, NAN };

static uint64_t tenant_age_ns(const struct tenant *t, uint64_t now)
{
	const uint64_t until = t->n ? now : t->left_ns;

	return until > t->came_ns ? until - t->came_ns : 1;
}

/* In the last intervals, of the tenants that had work. */
static struct hes_fairness fairness_recent(const struct listing *l, uint32_t gpu, uint64_t now)
{
	const uint64_t ns = RECENT * l->c->queue.interval * l->c->queue.quantum_ns,
		       other_work_ns = l->gpus[gpu].not_held.last_ns;
	struct spread time = SPREAD_NONE, energy = SPREAD_NONE;

	if (other_work_ns && other_work_ns + ns >= now)
		return not_known;
	for (const struct tenant *t = l->tenants->v; t < l->tenants->v + l->tenants->n; t++) {
		struct recent r;

		if (!t->used || t->gpu != gpu)
			continue;
		r = sums_recent(&t->sums, now);
		if (!r.wanted && !t->wanting)
			continue;
		spread_add(&time, r.used.fair_ns);
		spread_add(&energy, r.used.fair_j);
	}
	return spread_fairness(&time, &energy);
}

/* Since they came. */
static struct hes_fairness fairness_total(const struct listing *l, uint32_t gpu, uint64_t now)
{
	const uint64_t other_work_ns = l->gpus[gpu].not_held.last_ns;
	struct spread time = SPREAD_NONE, energy = SPREAD_NONE;
	uint64_t since_ns = now;

	for (const struct tenant *t = l->tenants->v; t < l->tenants->v + l->tenants->n; t++) {
		if (!t->used || t->gpu != gpu || !(t->leases || t->n))
			continue;
		since_ns = t->came_ns < since_ns ? t->came_ns : since_ns;
		if (!t->leases)
			continue;
		spread_add(&time, t->sums.all.fair_ns / (double)tenant_age_ns(t, now));
		spread_add(&energy, t->sums.all.fair_j / (double)tenant_age_ns(t, now));
	}
	return other_work_ns && other_work_ns >= since_ns ? not_known
							  : spread_fairness(&time, &energy);
}

static size_t gpu_message(struct listing *l, uint32_t gpu, union fair_message *m, uint64_t now)
{
	const struct gpu *g = &l->gpus[gpu];
	const struct hes_fairness recent = fairness_recent(l, gpu, now),
				  total = fairness_total(l, gpu, now);
	size_t length = fair_wire_begin(m, FAIR_GPU);
	struct fair_gpu *o = &m->gpu;

	memcpy(o->gpu, g->about.uuid, sizeof(o->gpu));
	memcpy(o->name, g->about.name, sizeof(o->name));
	snprintf(o->policy, sizeof(o->policy), "%s", l->c->queue.policy->name);
	o->phi = l->tenants->turns[gpu].phi;
	o->phi_fair = hes_fair_queue_phi_fair(l->tenants->turns[gpu].queue);
	o->interval_ns = l->c->queue.interval * l->c->queue.quantum_ns;
	o->age_ns = now - l->started_ns;
	o->wanted_ns = g->wanted_ns + (g->wanting ? now - g->wanted_since_ns : 0);
	o->used_ns = g->used_ns;
	o->leases = g->leases;
	o->clock_changes = g->clock.changes;
	o->energy_j = g->readings.counted ? g->readings.last_j - g->readings.first_j : NAN;
	o->fairness_time = recent.time;
	o->fairness_energy = recent.energy;
	o->fairness_system = recent.system;
	o->total_time = total.time;
	o->total_energy = total.energy;
	o->total_system = total.system;
	return length;
}

/* What its connections do, the busiest of them. */
static enum fair_tenant_state tenant_state(const struct listing *l, const struct tenant *t)
{
	static const int rank[] = { [FAIR_IDLE] = 0,
				    [FAIR_LOST] = 1,
				    [FAIR_WAITING] = 2,
				    [FAIR_DRAINING] = 3,
				    [FAIR_RUNNING] = 4 };
	enum fair_tenant_state state = FAIR_IDLE;

	for (uint32_t i = 0; i < l->c->connections; i++) {
		const struct connection *c = &l->connections->v[i];

		if (tenant_has(l->tenants, t, c) && rank[c->state] > rank[state])
			state = c->state;
	}
	return state;
}

static size_t tenant_message(const struct listing *l, const struct tenant *t, union fair_message *m,
			     uint64_t now)
{
	const struct gpu *g = &l->gpus[t->gpu];
	struct recent r = sums_recent(&t->sums, now);
	size_t length = fair_wire_begin(m, FAIR_TENANT);
	struct fair_tenant_row *o = &m->tenant;
	struct hes_fair_usage u = { 0 };
	struct hes_fair_turn turn;

	hes_fair_queue_pick(l->tenants->turns[t->gpu].queue, &turn);
	hes_fair_queue_usage(l->tenants->turns[t->gpu].queue, t->queue, &u, NULL);
	memcpy(o->gpu, g->about.uuid, sizeof(o->gpu));
	memcpy(o->tenant, t->name, sizeof(o->tenant));
	o->uid = t->uid;
	o->processes = t->n;
	o->pid = t->n ? t->pid : 0;
	o->state = tenant_state(l, t);
	o->clock_mhz = t->clock_mhz;
	o->power_source = t->source;
	o->weight = t->weight;
	o->user_weight = user_weight(l->connections, t->uid);
	o->power_w = power_watts(&t->power);
	o->slice_ns = u.items ? u.slice * l->c->queue.quantum_ns : 0;
	o->time_ns = t->sums.all.ns;
	o->energy_j = t->sums.all.joules;
	o->recent_ns = r.used.ns;
	o->recent_j = r.used.joules;
	o->leases = t->leases;
	o->lost = t->lost;
	return length;
}

/* @return 0; -EAGAIN there is no room for it yet; the connection is closing where it can take
 * nothing any more */
static int listing_send(struct listing *l, uint32_t id, const union fair_message *m, size_t length)
{
	int rc = l->connections->out->send(l->connections->out->ctx, id, m, length);

	if (rc && rc != -EAGAIN)
		connection_close_soon(l->connections, id);
	return rc;
}

/* @return 0: it may be just starting, and connect yet */
static size_t not_held_message(const struct gpu *g, uint32_t i, union fair_message *m)
{
	size_t length = fair_wire_begin(m, FAIR_NOT_HELD);

	if (i >= g->not_held.n || !g->not_held.again[i])
		return 0;
	memcpy(m->not_held.gpu, g->about.uuid, sizeof(m->not_held.gpu));
	memcpy(m->not_held.name, g->not_held.v[i].name, sizeof(m->not_held.name));
	m->not_held.pid = (uint32_t)g->not_held.v[i].id.pid;
	m->not_held.uid = g->not_held.v[i].uid;
	return length;
}

/* The message at the connection's place; row 0 is the GPU's own, those after its tenants are of
 * processes outside of leases. @return its length; 0: there is none */
static size_t listing_message(struct listing *l, const struct connection *c, union fair_message *m,
			      uint64_t now)
{
	const struct tenant *t;

	if (c->list_gpu == l->c->n_gpus)
		return fair_wire_begin(m, FAIR_END);
	if (!c->list_row)
		return gpu_message(l, c->list_gpu, m, now);
	if (c->list_row > l->tenants->n)
		return not_held_message(&l->gpus[c->list_gpu], c->list_row - l->tenants->n - 1, m);
	t = &l->tenants->v[c->list_row - 1];
	return t->used && t->gpu == c->list_gpu ? tenant_message(l, t, m, now) : 0;
}

void listing_go_on(struct listing *l, uint32_t id, uint64_t now)
{
	struct connection *c = &l->connections->v[id];
	union fair_message m;

	while (c->listing && !c->closing) {
		size_t length = listing_message(l, c, &m, now);

		if (length && listing_send(l, id, &m, length))
			return;
		if (c->list_gpu == l->c->n_gpus)
			c->listing = false;
		else if (c->list_row++ == l->tenants->n + NOT_HELD_MAX) {
			c->list_gpu++;
			c->list_row = 0;
		}
	}
}

void listing_begin(struct listing *l, uint32_t id, uint64_t now)
{
	struct connection *c = &l->connections->v[id];

	/* A second query gets the answer of the first while that is being prepared. */
	if (c->listing)
		return;
	for (size_t i = 0; i < l->c->n_gpus; i++) {
		gpu_account(&l->gpus[i], now);
		gpu_has_other_work(&l->gpus[i], now);
		readings_request(&l->gpus[i].readings);
	}
	c->listing = true;
	c->list_gpu = c->list_row = 0;
	listing_go_on(l, id, now);
}
