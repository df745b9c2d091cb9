/*
 * leases.c - the leases of a GPU; see leases.h.
 */
#include "arbiter/leases.h"

/* What a tenant's own measure may leave out of a lease at most: in time, and as a part of it, so
 * that many short leases gain nothing. */
#define SLACK_NS     MS
#define SLACK_PART   20
#define PREPARE_NS   MS /* before the end of a slice */
#define OVERRUN_PART 8  /* of the greatest overrun, that each lease takes away */

void gpu_create(struct gpu *g, const struct arbiter_config *c, const struct arbiter_out *out,
		struct connections *cs, struct tenants *ts, uint32_t index)
{
	*g = (struct gpu){ .c = c,
			   .out = out,
			   .connections = cs,
			   .tenants = ts,
			   .about = c->gpus[index],
			   .index = index,
			   .clock = { .out = out, .gpu = index, .may = c->clocks },
			   .readings = { .out = out, .gpu = index, .next_ns = ARBITER_NEVER },
			   .next = NONE,
			   .switching = NONE };
	g->long_turns = (struct long_turns){
		.c = c, .tenants = ts, .readings = &g->readings, .gpu = index
	};
	ts->turns[index].clock = &g->clock;
}

static struct tenant *connection_tenant(const struct gpu *g, uint32_t id)
{
	return &g->tenants->v[g->connections->v[id].tenant];
}

static struct tenant *lease_tenant(const struct gpu *g)
{
	return &g->tenants->v[g->lease.tenant];
}

static struct hes_fair_queue *gpu_queue(const struct gpu *g)
{
	return g->tenants->turns[g->index].queue;
}

bool gpu_has_other_work(struct gpu *g, uint64_t now)
{
	return not_held_watch(&g->not_held, g->connections, g->index, now);
}

static void connection_turn(struct gpu *g, uint32_t id, enum fair_tenant_state state, uint64_t now)
{
	struct connection *c = &g->connections->v[id];
	struct tenant *t = connection_tenant(g, id);
	const uint32_t more = state == FAIR_WAITING, less = c->state == FAIR_WAITING;

	g->waiting += more - less;
	if (more && !t->waiting)
		t->waits_ns = now;
	t->waiting += more - less;
	c->state = state;
}

static void lease_send(struct gpu *g, uint32_t id, enum fair_message_type type, uint64_t lease,
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
	connection_send(g->connections, id, &m, length);
}

/* --- charges --- */

/* @return what a lease that was held for @held is charged at least: the arbiter believes its own
 * clock */
static uint64_t charge_least(uint64_t held)
{
	return held - lesser_ns(held / SLACK_PART, SLACK_NS);
}

/* @return how much of @used is lent: of a long turn, or of one whose slice has become shorter, what
 * is beyond the slice */
static uint64_t lease_lent(const struct gpu *g, uint64_t used)
{
	return beyond_ns(lesser_ns(used, g->lease.slice_ns),
			 tenant_slice_ns(g->tenants, lease_tenant(g)));
}

/* @return what is paid back by @used of a short turn, minus earlier charges */
static uint64_t lease_pays(const struct lease *l, struct tenant *t, uint64_t used)
{
	const uint64_t turn = beyond_ns(lesser_ns(used, l->slice_ns), l->accounted_ns);

	return l->is_short ? loan_pay(t, turn) : 0;
}

/* Charge @used of the lease, minus earlier charges. */
static void lease_charge(struct gpu *g, uint64_t used, uint64_t now)
{
	struct lease *l = &g->lease;
	struct tenant *t = lease_tenant(g);
	double joules;
	uint64_t more, lent;

	if (used <= l->accounted_ns)
		return;
	more = lesser_ns(used - l->accounted_ns, HES_FAIR_MAX_NS);
	lent = lesser_ns(beyond_ns(lease_lent(g, used), l->lent_ns), more);
	joules = power_watts(&t->power) * (double)more * 1e-9;
	hes_fair_queue_charge(gpu_queue(g), t->queue, more - lent + lease_pays(l, t, used), joules,
			      NULL);
	l->accounted_ns = used;
	l->lent_ns += lent;
	/* No other tenant waits. */
	if (!l->slice_ns)
		t->loan_ns = beyond_ns(t->loan_ns, more);
	g->used_ns += more;
	sums_add(&t->sums, more, joules, tenant_part(g->tenants, t), now);
}

void gpu_account(struct gpu *g, uint64_t now)
{
	if (g->lease.number)
		lease_charge(g, charge_least(now - g->lease.granted_ns), now);
}

static void lease_measured(struct gpu *g, const struct reading *r, uint64_t now)
{
	/* Whose the joules are is not known: the tenant is charged its power times its time. */
	if (gpu_has_other_work(g, now) ||
	    (g->not_held.last_ns && g->not_held.last_ns + r->ns >= now))
		return;
	g->lease.measured = true;
	lease_tenant(g)->source = FAIR_POWER_MEASURED;
	tenant_measured(g->tenants, lease_tenant(g), r, now);
}

/* The lease is over: its connection has state @state now, and has work or not as before. */
static void lease_end(struct gpu *g, uint64_t used, enum fair_tenant_state state, uint64_t now)
{
	struct lease *l = &g->lease;
	struct tenant *t = lease_tenant(g);
	struct reading r;

	lease_charge(g, used, now);
	t->loan_ns += l->lent_ns;
	if (readings_end(&g->readings, &r))
		lease_measured(g, &r, now);
	if (!l->measured)
		t->source = t->power.known ? FAIR_POWER_KNOWN : FAIR_POWER_ASSUMED;
	connection_turn(g, l->connection, state, now);
	t->waits_ns = now;
	t->leases++;
	g->leases++;
	*l = (struct lease){ .number = 0 };
}

/* A kernel is not interrupted: what comes next may be as late. */
static void lease_overran(const struct gpu *g, uint64_t held)
{
	struct tenant *t = lease_tenant(g);

	if (g->lease.slice_ns)
		t->overrun_ns = greater_ns(t->overrun_ns - t->overrun_ns / OVERRUN_PART,
					   beyond_ns(held, g->lease.slice_ns));
}

/* --- events of a connection --- */

void lease_want(struct gpu *g, uint32_t id, uint64_t now)
{
	struct connection *c = &g->connections->v[id];
	struct tenant *t = connection_tenant(g, id);

	if (c->wants || c->state == FAIR_LOST)
		return;
	gpu_account(g, now);
	if (hes_fair_queue_submit(gpu_queue(g), t->queue, 1, NULL))
		return;
	c->wants = true;
	t->wanting++;
	if (!g->wanting++)
		g->wanted_since_ns = now;
	sums_want(&t->sums, now);
	connection_turn(g, id, FAIR_WAITING, now);
}

static void lease_rest(struct gpu *g, uint32_t id, uint64_t now)
{
	struct connection *c = &g->connections->v[id];
	struct tenant *t = connection_tenant(g, id);

	connection_turn(g, id, FAIR_IDLE, now);
	if (g->next == id)
		g->next = NONE;
	if (!c->wants)
		return;
	hes_fair_queue_done(gpu_queue(g), t->queue, 1, NULL);
	c->wants = false;
	t->wanting--;
	if (!--g->wanting)
		g->wanted_ns += now - g->wanted_since_ns;
}

void lease_release(struct gpu *g, uint32_t id, const struct fair_release *r, uint64_t now)
{
	const struct connection *c = &g->connections->v[id];
	uint64_t held = now - g->lease.granted_ns, used;

	if (!r->lease || r->lease != c->lease)
		return;
	if (c->state == FAIR_LOST) {
		gpu_has_other_work(g, now);
		connection_turn(g, id, FAIR_IDLE, now);
		if (r->more)
			lease_want(g, id, now);
		return;
	}
	if (g->lease.number != r->lease || g->lease.connection != id)
		return;
	used = r->gpu_ns ? lesser_ns(r->gpu_ns, held) : held;
	lease_overran(g, held);
	lease_end(g, greater_ns(used, charge_least(held)), FAIR_WAITING, now);
	if (!r->more)
		lease_rest(g, id, now);
}

static void lease_lose(struct gpu *g, uint64_t now)
{
	uint32_t id = g->lease.connection;
	struct tenant *t = lease_tenant(g);

	connection_say(g->connections, ARBITER_LOST_LEASE, id, NULL);
	t->lost++;
	lease_end(g, now - g->lease.granted_ns, FAIR_WAITING, now);
	loan_end(&g->long_turns, t);
	lease_rest(g, id, now);
	connection_turn(g, id, FAIR_LOST, now);
	gpu_has_other_work(g, now);
}

void lease_close(struct gpu *g, uint32_t id, uint64_t now)
{
	gpu_has_other_work(g, now);
	if (g->switching == id)
		g->switching = NONE;
	if (g->lease.number && g->lease.connection == id)
		lease_end(g, now - g->lease.granted_ns, FAIR_WAITING, now);
	lease_rest(g, id, now);
	if (connection_tenant(g, id)->n == 1)
		loan_end(&g->long_turns, connection_tenant(g, id));
}

/* --- the end of a lease --- */

/* @return the connection of a tenant whose turn it is, the one whose last lease was longest ago;
 * NONE: none waits */
static uint32_t tenant_connection(const struct gpu *g, const struct tenant *t)
{
	const struct connection *v = g->connections->v;
	uint32_t first = NONE;

	if (g->next != NONE && connection_tenant(g, g->next) == t &&
	    v[g->next].state == FAIR_WAITING)
		return g->next;
	for (uint32_t i = 0; t->waiting && i < g->c->connections; i++)
		if (tenant_has(g->tenants, t, &v[i]) && v[i].state == FAIR_WAITING &&
		    (first == NONE || v[i].lease < v[first].lease))
			first = i;
	return first;
}

/* Whose turn it is: by the queue, but in the round after a long turn by how long each waits.
 * @return NONE: none has work */
static uint32_t gpu_next(struct gpu *g, struct hes_fair_turn *turn)
{
	const uint32_t tenant = tenants_next(g->tenants, g->index, turn);
	const uint32_t first = tenant == NONE ? NONE : long_turn_next(&g->long_turns);

	if (first == NONE)
		return tenant;
	turn->slice_ns = tenant_slice_ns(g->tenants, &g->tenants->v[first]);
	return first;
}

/* How long a lease without an end lasts from its GRANT on, once others wait. */
static uint64_t lease_limit(const struct gpu *g)
{
	struct hes_fair_turn turn;

	/* Slices are computed by a pick. */
	hes_fair_queue_pick(gpu_queue(g), &turn);
	return tenant_slice_ns(g->tenants, lease_tenant(g));
}

/* @return when the lease ends, or should end; ARBITER_NEVER: no other tenant waits */
static uint64_t lease_over(const struct gpu *g)
{
	const struct lease *l = &g->lease;

	if (l->stopped_ns)
		return l->stopped_ns;
	if (l->slice_ns)
		return l->granted_ns + l->slice_ns;
	return g->waiting ? l->granted_ns + lease_limit(g) : ARBITER_NEVER;
}

static void lease_stop(struct gpu *g, uint64_t now)
{
	g->lease.stopped_ns = now;
	lease_send(g, g->lease.connection, FAIR_STOP, g->lease.number, 0);
	connection_turn(g, g->lease.connection, FAIR_DRAINING, now);
}

/* End a lease without an end, so that the next one has what has become possible: a clock, readings.
 */
static void lease_renew(struct gpu *g, uint64_t now)
{
	if (g->lease.number && !g->lease.slice_ns && !g->lease.stopped_ns)
		lease_stop(g, now);
}

/* Tell the one that is next, so that it is awake when it gets its lease. */
static void lease_prepare(struct gpu *g, uint64_t now)
{
	struct hes_fair_turn turn;
	uint32_t tenant;

	g->lease.prepared = true;
	gpu_account(g, now);
	tenant = g->waiting ? gpu_next(g, &turn) : NONE;
	if (tenant == NONE || tenant == g->lease.tenant)
		return;
	g->next = tenant_connection(g, &g->tenants->v[tenant]);
	if (g->next != NONE)
		lease_send(g, g->next, FAIR_PREPARE, 0, 0);
}

static void lease_watch(struct gpu *g, uint64_t now)
{
	struct lease *l = &g->lease;
	uint64_t over;

	if (now >= g->readings.next_ns)
		readings_go_on(&g->readings, now);
	over = lease_over(g);
	if (over == ARBITER_NEVER)
		return;
	if (!l->slice_ns && !l->stopped_ns && now >= over) {
		lease_stop(g, now);
		over = now; /* a lease without an end is over once STOP is sent */
	}
	if (l->slice_ns && now >= over && g->connections->v[l->connection].state == FAIR_RUNNING)
		connection_turn(g, l->connection, FAIR_DRAINING, now);
	if (!l->prepared && (l->slice_ns || l->stopped_ns) && now + PREPARE_NS >= over)
		lease_prepare(g, now);
	if (now >= over && now - over >= g->c->patience_ns)
		lease_lose(g, now);
}

/* --- the beginning of a lease --- */

/* Its turn, where others wait: a long one, its slice, or a short one that pays a loan back. */
static void lease_length(struct gpu *g, struct tenant *t, uint64_t slice_ns, bool measure,
			 uint64_t now)
{
	struct lease *l = &g->lease;

	l->slice_ns = loan_turn_ns(t, slice_ns);
	l->is_short = l->slice_ns < slice_ns;
	if (!l->is_short && measure)
		l->slice_ns = long_turn_ns(&g->long_turns, t, slice_ns, now);
}

static void lease_grant(struct gpu *g, uint32_t id, uint64_t slice_ns, uint64_t now)
{
	struct connection *c = &g->connections->v[id];
	struct tenant *t = connection_tenant(g, id);
	/* Joules that may be of others say nothing. */
	const bool measure = g->c->profile_ns && g->readings.refresh_ns &&
			     power_is_missing(&t->power) && !gpu_has_other_work(g, now);

	g->next = NONE;
	g->lease = (struct lease){
		.number = ++g->serial, .connection = id, .tenant = c->tenant, .granted_ns = now
	};
	connection_turn(g, id, FAIR_RUNNING, now);
	if (g->waiting)
		lease_length(g, t, slice_ns, measure, now);
	c->lease = g->lease.number;
	lease_send(g, id, FAIR_GRANT, g->lease.number, g->lease.slice_ns);
	readings_begin(&g->readings, g->lease.number, g->lease.slice_ns, measure, now);
}

/* @return whether the clock is as the tenant asks, or it runs without; else it is being set, and
 * the GPU waits */
static bool tenant_has_clock(struct gpu *g, struct tenant *t, uint64_t now)
{
	if (clock_is(&g->clock, t->clock_mhz) || now < t->clock_retry_ns)
		return true;
	if (clock_order(&g->clock, t->clock_mhz, now))
		return false;
	t->clock_retry_ns = now + SECOND;
	return true;
}

/* A GPU whose clock is being set waits for that. */
static void gpu_give(struct gpu *g, uint64_t now)
{
	uint32_t id = g->switching, tenant;

	if (g->clock.tag)
		return;
	if (id == NONE) {
		tenant = gpu_next(g, &g->turn);
		id = tenant == NONE ? NONE : tenant_connection(g, &g->tenants->v[tenant]);
	}
	if (id == NONE)
		return;
	g->switching = id;
	if (!tenant_has_clock(g, connection_tenant(g, id), now))
		return;
	g->switching = NONE;
	lease_grant(g, id, g->turn.slice_ns, now);
}

void gpu_schedule(struct gpu *g, uint64_t now)
{
	uint64_t lease;

	if (clock_expire(&g->clock, now))
		tenants_lose_clocks(g->tenants, g->index);
	/* A lease that is lost frees the GPU; one that was just granted may be so short that it is
	 * time for PREPARE. */
	do {
		if (!g->lease.number)
			gpu_give(g, now);
		lease = g->lease.number;
		if (lease)
			lease_watch(g, now);
	} while (g->lease.number != lease);
}

static uint64_t lease_deadline(const struct gpu *g)
{
	const struct lease *l = &g->lease;
	uint64_t over, next_read_ns = g->readings.next_ns;

	if (!l->number)
		return ARBITER_NEVER;
	over = lease_over(g);
	if (over == ARBITER_NEVER)
		return next_read_ns;
	if (!l->slice_ns && !l->stopped_ns)
		return lesser_ns(over, next_read_ns);
	if (!l->prepared)
		return lesser_ns(over - lesser_ns(over, PREPARE_NS), next_read_ns);
	if (g->connections->v[l->connection].state == FAIR_RUNNING)
		return lesser_ns(over, next_read_ns);
	return lesser_ns(over + g->c->patience_ns, next_read_ns);
}

uint64_t gpu_deadline(const struct gpu *g)
{
	return lesser_ns(lease_deadline(g), g->clock.tag ? g->clock.deadline_ns : ARBITER_NEVER);
}

/* --- events of the GPU --- */

static void gpu_gone(struct gpu *g, const char *why)
{
	if (g->readings.gone)
		return;
	readings_gone(&g->readings);
	clock_gone(&g->clock);
	gpu_note(g->out, ARBITER_GPU_GONE, g->index, why);
}

static void gpu_clock_set(struct gpu *g, uint64_t tag, int rc, const char *why, uint64_t now)
{
	enum clock_end end;

	if (!clock_answered(&g->clock, tag, rc, why, &end))
		return;
	if (end == CLOCK_REFUSED)
		tenants_lose_clocks(g->tenants, g->index);
	/* The tenant that waits for its clock runs without it for a while. */
	if (end == CLOCK_FAILED && g->clock.may && g->switching != NONE)
		connection_tenant(g, g->switching)->clock_retry_ns = now + SECOND;
	/* The one that it was set for may have gone. */
	if (end == CLOCK_SET)
		gpu_rest_clock(g, now);
}

void gpu_report(struct gpu *g, const struct arbiter_report *r, uint64_t now)
{
	struct reading reading;

	gpu_account(g, now);
	gpu_has_other_work(g, now);
	if (r->kind == REPORT_READY) {
		clock_ready(&g->clock);
		readings_ready(&g->readings, r->refresh_ns);
		lease_renew(g, now);
	} else if (r->kind == REPORT_GONE) {
		gpu_gone(g, r->text);
	} else if (r->kind == REPORT_ENERGY) {
		if (readings_take(&g->readings, r->tag, &r->energy, &reading))
			lease_measured(g, &reading, now);
	} else if (r->kind == REPORT_CLOCK) {
		gpu_clock_set(g, r->tag, r->rc, r->text, now);
	} else if (r->kind == REPORT_PROCESSES) {
		not_held_look(&g->not_held, g->connections, g->index, r->processes, r->n_processes);
		if (gpu_has_other_work(g, now))
			g->long_turns.no_room_since_ns = 0;
	} else if (r->kind == REPORT_PROFILE) {
		tenants_found(g->tenants, g->index, &r->power);
	}
}

void gpu_rest_clock(struct gpu *g, uint64_t now)
{
	clock_rest(&g->clock, tenants_request_clock(g->tenants, g->index), now);
}

/* A tenant whose clock could not be set has a lease without an end: the next one has the clock. */
static void gpu_retry_clock(struct gpu *g, uint64_t now)
{
	uint64_t retry = g->lease.number ? lease_tenant(g)->clock_retry_ns : 0;

	if (!retry || now < retry)
		return;
	lease_tenant(g)->clock_retry_ns = 0;
	lease_renew(g, now);
}

void gpu_second(struct gpu *g, uint64_t now)
{
	gpu_has_other_work(g, now);
	readings_request(&g->readings);
	gpu_rest_clock(g, now);
	gpu_retry_clock(g, now);
}
