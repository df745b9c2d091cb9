/*
 * tenants.c - tenants and users: added at their first connection, and remembered for a while after
 * the last.
 *
 * A tenant that left keeps its place in the run queue, so that a new connection does not clear its
 * debt. A new name does not either: a new tenant gets the largest debt of its user's tenants that
 * left in the last minute.
 */
#include <string.h>

#include "arbiter/arbiter_state.h"

#define PROFILINGS         8              /* that root and the owner may start at once */
#define PROFILINGS_OF_USER 2              /* any other user */
#define KEEP_S             30             /* between two writes of what a tenant has used */
#define PROFILINGS_NS      (300 * SECOND) /* until another one */

static double user_profilings(const struct arbiter *a, uint32_t uid)
{
	return user_is_trusted(a, uid) ? PROFILINGS : PROFILINGS_OF_USER;
}

static void user_refill(const struct arbiter *a, struct user *u, uint64_t now)
{
	const double most = user_profilings(a, u->uid);

	u->profilings += (double)(now - u->counted_ns) / (double)PROFILINGS_NS;
	u->profilings = u->profilings < most ? u->profilings : most;
	u->counted_ns = now;
}

struct user *user_find(struct arbiter *a, uint32_t uid, uint64_t now)
{
	struct user *free_one = NULL;

	for (uint32_t i = 0; i < a->n_tenants; i++) {
		struct user *u = &a->users[i];

		if (u->used && u->uid == uid) {
			user_refill(a, u, now);
			return u;
		}
		/* One without connections may be forgotten; best the one that was seen longest ago.
		 */
		if (!u->used || (!u->n && (!free_one || (free_one->used &&
							 u->counted_ns < free_one->counted_ns))))
			free_one = free_one && !free_one->used ? free_one : u;
	}
	if (free_one)
		*free_one = (struct user){ .used = true,
					   .uid = uid,
					   .profilings = user_profilings(a, uid),
					   .counted_ns = now };
	return free_one;
}

uint32_t tenant_clock(const struct gpu *g, const struct tenant *t)
{
	return g->clocks ? t->clock_mhz : 0;
}

struct recent *tenant_recent(const struct arbiter *a, struct tenant *t, uint64_t now)
{
	uint64_t epoch = now / (a->c.queue.interval * a->c.queue.quantum_ns);
	struct recent *r = &t->recent[epoch % RECENT];

	if (r->epoch != epoch)
		*r = (struct recent){ .epoch = epoch };
	return r;
}

static struct hes_fair_tenant tenant_spec(const struct tenant *t)
{
	return (struct hes_fair_tenant){ t->power_w, t->weight, HES_FAIR_BACKLOGGED };
}

void tenant_change(struct arbiter *a, struct tenant *t)
{
	const struct hes_fair_tenant spec = tenant_spec(t);

	hes_fair_queue_change(a->gpus[t->gpu].queue, t->queue, &spec, NULL);
}

void usage_keep(struct arbiter *a, struct tenant *t)
{
	struct arbiter_usage u = { .uid = t->uid,
				   .seconds = (double)(t->time_ns - t->kept_ns) * 1e-9,
				   .joules = t->energy_j - t->kept_j };

	memcpy(u.tenant, t->name, sizeof(u.tenant));
	if ((t->time_ns == t->kept_ns && t->energy_j == t->kept_j) ||
	    !a->out.keep_usage(a->out.ctx, t->gpu, &u))
		return;
	t->kept_ns = t->time_ns;
	t->kept_j = t->energy_j;
}

static void tenant_forget(struct arbiter *a, struct tenant *t)
{
	power_keep(a, t, 0, 0);
	usage_keep(a, t);
	hes_fair_queue_remove(a->gpus[t->gpu].queue, t->queue, NULL);
	t->used = false;
}

void tenants_sweep(struct arbiter *a, uint64_t now)
{
	for (uint32_t i = 0; i < a->n_tenants; i++) {
		struct tenant *t = &a->tenants[i];

		if (!t->used)
			continue;
		/* Each once in a while, so that the store's writes are spread over time. */
		if ((now / SECOND + i) % KEEP_S == 0)
			usage_keep(a, t);
		if (!t->n && now - t->left_ns > LINGER_NS)
			tenant_forget(a, t);
	}
}

/* Its name is there, or there is room for it. There are more places than connections: one is free,
 * or of one that went. */
static struct tenant *tenant_place(struct arbiter *a, uint32_t uid, uint32_t gpu, const char *name)
{
	struct tenant *place = NULL;

	for (uint32_t i = 0; i < a->n_tenants; i++) {
		struct tenant *t = &a->tenants[i];

		if (t->used && t->gpu == gpu && t->uid == uid && strcmp(t->name, name) == 0)
			return t;
		if (!t->used)
			place = place && !place->used ? place : t;
		else if (!t->n && (!place || (place->used && t->left_ns < place->left_ns)))
			place = t;
	}
	if (place && place->used)
		tenant_forget(a, place);
	return place;
}

/* GPU time until the tenants with work that have used least have used as much, each for its slice.
 */
static uint64_t tenant_debt(struct arbiter *a, const struct tenant *t)
{
	struct hes_fair_queue *q = a->gpus[t->gpu].queue;
	struct hes_fair_usage own, least;
	struct hes_fair_turn turn;
	double ns;

	if (!hes_fair_queue_pick(q, &turn) || hes_fair_queue_usage(q, turn.tenant, &least, NULL) ||
	    hes_fair_queue_usage(q, t->queue, &own, NULL))
		return t->owes_ns;
	ns = (own.vruntime - least.vruntime) * (double)own.slice * (double)a->c.queue.quantum_ns;
	ns = (ns > 0 ? ns : 0) + (double)t->owes_ns;
	return ns < (double)HES_FAIR_MAX_NS ? (uint64_t)ns : HES_FAIR_MAX_NS;
}

static uint64_t user_debt(struct arbiter *a, uint32_t uid, uint32_t gpu)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < a->n_tenants; i++) {
		const struct tenant *t = &a->tenants[i];
		uint64_t debt =
			t->used && !t->n && t->uid == uid && t->gpu == gpu ? tenant_debt(a, t) : 0;

		most = debt > most ? debt : most;
	}
	return most;
}

bool tenant_pay(struct arbiter *a, struct tenant *t, uint64_t now)
{
	uint64_t owes = t->owes_ns;

	t->owes_ns = 0;
	return owes && now - t->came_ns <= LINGER_NS &&
	       !hes_fair_queue_charge(a->gpus[t->gpu].queue, t->queue, owes, 0, NULL);
}

static int tenant_begin(struct arbiter *a, struct tenant *t, uint32_t uid, uint32_t gpu,
			const struct fair_hello *h, uint64_t now)
{
	struct gpu *g = &a->gpus[gpu];
	struct hes_fair_tenant spec;
	int rc;

	*t = (struct tenant){ .uid = uid,
			      .gpu = gpu,
			      .weight = h->weight,
			      .clock_mhz = h->clock_mhz,
			      .came = ++a->serial,
			      .came_ns = now,
			      .power_w = HES_FAIR_MAX_NUMBER };
	memcpy(t->name, h->tenant, sizeof(t->name));
	for (size_t i = 0; i < ARBITER_MAX_PER_USER; i++)
		t->by_stream[i] = NONE;
	spec = tenant_spec(t);
	rc = hes_fair_queue_add(g->queue, &spec, a->c.per_user, &t->queue, NULL);
	if (rc)
		return rc;
	t->owes_ns = user_debt(a, uid, gpu);
	t->used = true;
	g->by_queue[t->queue] = (uint32_t)(t - a->tenants);
	power_look_up(a, t);
	powers_assume(a, g);
	return 0;
}

/* What a later HELLO says counts, but not against SET. */
static void tenant_take(struct arbiter *a, struct tenant *t, const struct fair_hello *h)
{
	bool other_clock = t->clock_mhz != h->clock_mhz;

	if (!t->weight_set)
		t->weight = h->weight;
	if (other_clock) {
		power_keep(a, t, 0, 0);
		t->clock_mhz = h->clock_mhz;
		power_look_up(a, t);
	}
	tenant_change(a, t);
}

uint32_t tenant_join(struct arbiter *a, uint32_t id, uint32_t gpu, const struct fair_hello *h,
		     uint64_t now)
{
	struct connection *c = &a->connections[id];
	struct tenant *t = tenant_place(a, c->uid, gpu, h->tenant);
	uint32_t stream = 0;

	if (!t || (!t->used && tenant_begin(a, t, c->uid, gpu, h, now)))
		return NONE;
	while (stream < a->c.per_user && t->by_stream[stream] != NONE)
		stream++;
	if (stream == a->c.per_user)
		return NONE;
	lease_account(a, &a->gpus[gpu], now);
	tenant_take(a, t, h);
	t->by_stream[stream] = id;
	t->n++;
	t->pid = c->pid;
	c->gpu = gpu;
	c->tenant = (uint32_t)(t - a->tenants);
	c->stream = stream;
	c->state = FAIR_IDLE;
	c->greeted = true;
	return c->tenant;
}

void tenant_leave(struct arbiter *a, uint32_t id, uint64_t now)
{
	struct connection *c = &a->connections[id];
	struct tenant *t = &a->tenants[c->tenant];

	t->by_stream[c->stream] = NONE;
	t->n--;
	for (size_t i = 0; t->pid == c->pid && i < ARBITER_MAX_PER_USER; i++)
		if (t->by_stream[i] != NONE)
			t->pid = a->connections[t->by_stream[i]].pid;
	arbiter_say(a, ARBITER_DISCONNECTED, c, NULL);
	c->greeted = false;
	if (t->n)
		return;
	t->left_ns = now;
	usage_keep(a, t);
	clock_rest(a, &a->gpus[t->gpu], now);
}
