/*
 * leases.c - leases of a GPU: who gets a lease, for how long, what it is charged, and when it is
 * lost.
 *
 * A lease is charged when it ends, and before each change of the order of tenants: a new tenant
 * starts at the least vruntime, which must include the use of the others until then.
 */
#include <string.h>

#include "arbiter/arbiter_state.h"

static void connection_turn(struct arbiter *a, uint32_t id, enum fair_tenant_state state)
{
	struct connection *c = &a->connections[id];
	bool waits = state == FAIR_WAITING, waited = c->state == FAIR_WAITING;

	a->gpus[c->gpu].waiting += (uint32_t)waits - (uint32_t)waited;
	a->tenants[c->tenant].waiting += (uint32_t)waits - (uint32_t)waited;
	c->state = state;
}

static void lease_send(struct arbiter *a, uint32_t id, enum fair_message_type type, uint64_t lease,
		       uint64_t slice_ns)
{
	union fair_message m;
	size_t length = fair_wire_begin(&m, type);

	if (type == FAIR_GRANT) {
		m.grant.lease = lease;
		m.grant.slice_ns = slice_ns;
	} else if (type == FAIR_STOP) {
		m.stop.lease = lease;
	}
	connection_send(a, id, &m, length);
}

void connection_want(struct arbiter *a, uint32_t id, uint64_t now)
{
	struct connection *c = &a->connections[id];
	struct gpu *g = &a->gpus[c->gpu];
	struct tenant *t = &a->tenants[c->tenant];

	if (c->wants || c->state == FAIR_LOST)
		return;
	lease_account(a, g, now);
	if (hes_fair_queue_submit(g->queue, t->queue, c->stream, 1, NULL))
		return;
	c->wants = true;
	if (!g->wanting++)
		g->wanted_since_ns = now;
	tenant_recent(a, t, now)->wanted = true;
	connection_turn(a, id, FAIR_WAITING);
}

void connection_rest(struct arbiter *a, uint32_t id, uint64_t now)
{
	struct connection *c = &a->connections[id];
	struct gpu *g = &a->gpus[c->gpu];
	struct tenant *t = &a->tenants[c->tenant];

	connection_turn(a, id, FAIR_IDLE);
	if (g->next == id)
		g->next = NONE;
	if (!c->wants)
		return;
	hes_fair_queue_done(g->queue, t->queue, c->stream, 1, NULL);
	c->wants = false;
	if (!--g->wanting)
		g->wanted_ns += now - g->wanted_since_ns;
}

/* @return what a lease that was held for @held is charged at least: the arbiter believes its own
 * clock */
static uint64_t charge_least(uint64_t held)
{
	uint64_t slack = held / SLACK_PART;

	return held - (slack < SLACK_NS ? slack : SLACK_NS);
}

/* Charge @used of the lease, minus earlier charges. */
static void lease_charge(struct arbiter *a, struct gpu *g, uint64_t used, uint64_t now)
{
	struct lease *l = &g->lease;
	struct tenant *t = &a->tenants[l->tenant];
	struct recent *r;
	double joules;
	uint64_t more;

	if (used <= l->accounted_ns)
		return;
	more = used - l->accounted_ns;
	more = more < HES_FAIR_MAX_NS ? more : HES_FAIR_MAX_NS;
	joules = tenant_watts(t) * (double)more * 1e-9;
	if (!l->profiling)
		hes_fair_queue_charge(g->queue, t->queue, more, joules, NULL);
	l->accounted_ns = used;
	l->estimate_j += joules;
	t->time_ns += more;
	r = tenant_recent(a, t, now);
	r->time_ns += more;
	r->wanted = true;
	g->used_ns += more;
	tenant_add_energy(a, t, joules, now);
}

void lease_account(struct arbiter *a, struct gpu *g, uint64_t now)
{
	if (g->lease.number)
		lease_charge(a, g, charge_least(now - g->lease.granted_ns), now);
}

/* The lease is over: its connection has state @state now, and has work or not as before. */
static void lease_end(struct arbiter *a, struct gpu *g, uint64_t used, enum fair_tenant_state state,
		      uint64_t now)
{
	struct lease *l = &g->lease;
	struct tenant *t = &a->tenants[l->tenant];
	uint64_t held = now - l->granted_ns;

	lease_charge(a, g, used, now);
	if (l->profiling)
		profiling_end(a, g, t, l, held);
	lease_read_end(a, g, held);
	connection_turn(a, l->connection, state);
	t->leases++;
	g->leases++;
	*l = (struct lease){ .number = 0 };
}

void connection_release(struct arbiter *a, uint32_t id, const struct fair_release *r, uint64_t now)
{
	struct connection *c = &a->connections[id];
	struct gpu *g = &a->gpus[c->gpu];
	uint64_t held = now - g->lease.granted_ns, used;

	if (!r->lease || r->lease != c->lease)
		return;
	if (c->state == FAIR_LOST) {
		connection_turn(a, id, FAIR_IDLE);
		if (r->more)
			connection_want(a, id, now);
		return;
	}
	if (g->lease.number != r->lease || g->lease.connection != id)
		return;
	used = r->gpu_ns && r->gpu_ns < held ? r->gpu_ns : held;
	used = used > charge_least(held) ? used : charge_least(held);
	lease_end(a, g, used, FAIR_WAITING, now);
	if (!r->more)
		connection_rest(a, id, now);
}

static void lease_lose(struct arbiter *a, struct gpu *g, uint64_t now)
{
	uint32_t id = g->lease.connection;
	struct tenant *t = &a->tenants[g->lease.tenant];

	arbiter_say(a, ARBITER_LOST_LEASE, &a->connections[id], NULL);
	/* A lease that was not to be charged would pay for hanging. */
	if (g->lease.profiling) {
		hes_fair_queue_charge(g->queue, t->queue, g->lease.accounted_ns, 0, NULL);
		t->profile.over = true;
	}
	g->lease.profiling = false;
	t->lost++;
	lease_end(a, g, now - g->lease.granted_ns, FAIR_WAITING, now);
	connection_rest(a, id, now);
	connection_turn(a, id, FAIR_LOST);
}

void connection_forfeit(struct arbiter *a, uint32_t id, uint64_t now)
{
	struct gpu *g = &a->gpus[a->connections[id].gpu];

	if (g->switching == id)
		g->switching = NONE;
	if (g->lease.number && g->lease.connection == id)
		lease_end(a, g, now - g->lease.granted_ns, FAIR_WAITING, now);
}

/* @return the connection of a tenant whose turn it is; NONE: none waits */
static uint32_t tenant_next(struct arbiter *a, const struct gpu *g, const struct tenant *t)
{
	uint32_t stream;

	if (g->next != NONE && &a->tenants[a->connections[g->next].tenant] == t &&
	    a->connections[g->next].state == FAIR_WAITING)
		return g->next;
	for (uint32_t i = 0; t->waiting && i < a->c.per_user; i++) {
		if (hes_fair_queue_stream(g->queue, t->queue, &stream, NULL))
			return NONE;
		if (a->connections[t->by_stream[stream]].state == FAIR_WAITING)
			return t->by_stream[stream];
	}
	return NONE;
}

/* @return the tenant whose turn it is; NONE: none has work */
static uint32_t gpu_pick(struct arbiter *a, struct gpu *g, struct hes_fair_turn *turn, uint64_t now)
{
	while (hes_fair_queue_pick(g->queue, turn))
		if (!tenant_pay(a, &a->tenants[g->by_queue[turn->tenant]], now))
			return g->by_queue[turn->tenant];
	return NONE;
}

/* How long a lease without an end lasts from its GRANT on, once others wait. */
static uint64_t lease_limit(const struct arbiter *a, const struct gpu *g)
{
	const struct tenant *t = &a->tenants[g->lease.tenant];
	struct hes_fair_usage u = { .slice = 1 };
	struct hes_fair_turn turn;

	if (g->lease.profiling && t->profile.state == PROFILE_NONE && !t->profile.over)
		return profiling_length(a, g, t);
	/* Slices are computed by a pick. */
	hes_fair_queue_pick(g->queue, &turn);
	hes_fair_queue_usage(g->queue, t->queue, &u, NULL);
	return u.slice * a->c.queue.quantum_ns;
}

/* @return when the lease ends, or should end; ARBITER_NEVER: no other tenant waits */
static uint64_t lease_over(const struct arbiter *a, const struct gpu *g)
{
	const struct lease *l = &g->lease;

	if (l->stopped_ns)
		return l->stopped_ns;
	if (l->slice_ns)
		return l->granted_ns + l->slice_ns;
	return g->waiting ? l->granted_ns + lease_limit(a, g) : ARBITER_NEVER;
}

static void lease_stop(struct arbiter *a, struct gpu *g, uint64_t now)
{
	g->lease.stopped_ns = now;
	lease_send(a, g->lease.connection, FAIR_STOP, g->lease.number, 0);
	connection_turn(a, g->lease.connection, FAIR_DRAINING);
}

void lease_renew(struct arbiter *a, struct gpu *g, uint64_t now)
{
	if (g->lease.number && !g->lease.slice_ns && !g->lease.stopped_ns)
		lease_stop(a, g, now);
}

/* Tell the one that is next, so that it is awake when it gets its lease. */
static void lease_prepare(struct arbiter *a, struct gpu *g, uint64_t now)
{
	struct hes_fair_turn turn;
	uint32_t tenant;

	g->lease.prepared = true;
	lease_account(a, g, now);
	tenant = g->waiting ? gpu_pick(a, g, &turn, now) : NONE;
	if (tenant == NONE || tenant == g->lease.tenant)
		return;
	g->next = tenant_next(a, g, &a->tenants[tenant]);
	if (g->next != NONE)
		lease_send(a, g->next, FAIR_PREPARE, 0, 0);
}

static void lease_watch(struct arbiter *a, struct gpu *g, uint64_t now)
{
	struct lease *l = &g->lease;
	uint64_t over;

	if (now >= l->next_read_ns)
		lease_read_part(a, g, now);
	over = lease_over(a, g);
	if (over == ARBITER_NEVER)
		return;
	if (!l->slice_ns && !l->stopped_ns && now >= over) {
		lease_stop(a, g, now);
		over = now; /* a lease without an end is over once STOP is sent */
	}
	if (l->slice_ns && now >= over && a->connections[l->connection].state == FAIR_RUNNING)
		connection_turn(a, l->connection, FAIR_DRAINING);
	if (!l->prepared && (l->slice_ns || l->stopped_ns) && now + PREPARE_NS >= over)
		lease_prepare(a, g, now);
	if (now >= over && now - over >= a->c.patience_ns)
		lease_lose(a, g, now);
}

static void lease_grant(struct arbiter *a, struct gpu *g, uint32_t id, uint64_t slice_ns,
			uint64_t now)
{
	struct connection *c = &a->connections[id];
	struct tenant *t = &a->tenants[c->tenant];

	g->next = NONE;
	g->lease = (struct lease){ .number = ++a->serial,
				   .connection = id,
				   .tenant = c->tenant,
				   .granted_ns = now,
				   .next_read_ns = ARBITER_NEVER,
				   .first_part = true,
				   .rounds = t->profile.rounds,
				   .profiling = profiling_may_begin(a, g, t, now) };
	connection_turn(a, id, FAIR_RUNNING);
	if (g->lease.profiling) {
		profiling_begin(a, t, now);
		slice_ns = profiling_length(a, g, t);
	}
	g->lease.slice_ns = g->waiting ? slice_ns : 0;
	c->lease = g->lease.number;
	lease_send(a, id, FAIR_GRANT, g->lease.number, g->lease.slice_ns);
	lease_read_start(a, g);
}

/* A GPU whose clock is being set waits for that. */
static void gpu_give(struct arbiter *a, struct gpu *g, uint64_t now)
{
	uint32_t id = g->switching, tenant;

	if (g->clock_tag)
		return;
	if (id == NONE) {
		tenant = gpu_pick(a, g, &g->turn, now);
		id = tenant == NONE ? NONE : tenant_next(a, g, &a->tenants[tenant]);
	}
	if (id == NONE)
		return;
	g->switching = id;
	if (!clock_is_ready(a, g, &a->tenants[a->connections[id].tenant], now))
		return;
	g->switching = NONE;
	lease_grant(a, g, id, g->turn.slice_ns, now);
}

void gpu_schedule(struct arbiter *a, struct gpu *g, uint64_t now)
{
	uint64_t lease;

	if (g->clock_tag && now >= g->clock_deadline_ns)
		clock_expire(a, g);
	/* A lease that is lost frees the GPU; one that was just granted may be so short that it is
	 * time for PREPARE. */
	do {
		if (!g->lease.number)
			gpu_give(a, g, now);
		lease = g->lease.number;
		if (lease)
			lease_watch(a, g, now);
	} while (g->lease.number != lease);
}

static uint64_t earlier(uint64_t x, uint64_t y)
{
	return x < y ? x : y;
}

static uint64_t lease_deadline(const struct arbiter *a, const struct gpu *g)
{
	const struct lease *l = &g->lease;
	uint64_t over;

	if (!l->number)
		return ARBITER_NEVER;
	over = lease_over(a, g);
	if (over == ARBITER_NEVER)
		return l->next_read_ns;
	if (!l->slice_ns && !l->stopped_ns)
		return earlier(over, l->next_read_ns);
	if (!l->prepared)
		return earlier(over - earlier(over, PREPARE_NS), l->next_read_ns);
	if (a->connections[l->connection].state == FAIR_RUNNING)
		return earlier(over, l->next_read_ns);
	return earlier(over + a->c.patience_ns, l->next_read_ns);
}

uint64_t gpu_deadline(const struct arbiter *a, const struct gpu *g)
{
	return earlier(lease_deadline(a, g), g->clock_tag ? g->clock_deadline_ns : ARBITER_NEVER);
}
