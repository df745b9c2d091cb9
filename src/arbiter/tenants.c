/*
 * tenants.c - the tenants of all GPUs, and their run queues; see tenants.h.
 */
#include "arbiter/tenants.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINGER_NS  (60 * SECOND) /* sums and debts of a tenant stay so long after it went */
#define KEEP_S     30            /* between two writes of what a tenant has used */
#define LIMIT_PART 0.5           /* of the power limit: assumed where nothing is known */
#define UNKNOWN_W  100.0

static int turns_create(struct turns *u, const struct arbiter_config *c, size_t gpu, uint32_t n)
{
	u->limit_w = c->gpus[gpu].limit_w;
	u->phi = c->queue.phi;
	u->by_queue = calloc(n, sizeof(*u->by_queue));
	return u->by_queue ? hes_fair_queue_create(&c->queue, &u->queue, NULL) : -ENOMEM;
}

int tenants_create(struct tenants *ts, const struct arbiter_config *c,
		   const struct arbiter_out *out, const struct connections *cs, uint32_t n)
{
	int rc = 0;

	*ts = (struct tenants){ .c = c, .out = out, .connections = cs, .n = n };
	ts->v = calloc(n, sizeof(*ts->v));
	ts->turns = calloc(c->n_gpus, sizeof(*ts->turns));
	if (!ts->v || !ts->turns)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < c->n_gpus; i++)
		rc = turns_create(&ts->turns[i], c, i, n);
	return rc;
}

void tenants_free(struct tenants *ts)
{
	for (size_t i = 0; ts->turns && i < ts->c->n_gpus; i++) {
		hes_fair_queue_destroy(ts->turns[i].queue);
		free(ts->turns[i].by_queue);
	}
	free(ts->turns);
	free(ts->v);
}

/* --- powers --- */

static struct hes_fair_tenant tenant_spec(const struct tenant *t)
{
	return (struct hes_fair_tenant){ t->power.queued_w, t->weight, HES_FAIR_BACKLOGGED };
}

/* Give the queue the tenant's power and weight. */
static void tenant_change(struct tenants *ts, const struct tenant *t)
{
	const struct hes_fair_tenant spec = tenant_spec(t);

	hes_fair_queue_change(ts->turns[t->gpu].queue, t->queue, &spec, NULL);
}

/* Powers that are only assumed follow those that are known. */
static void powers_assume(struct tenants *ts, uint32_t gpu)
{
	double sum = 0, watts, limit_w = ts->turns[gpu].limit_w;
	uint32_t n = 0;

	for (uint32_t i = 0; i < ts->n; i++)
		if (ts->v[i].used && ts->v[i].gpu == gpu && ts->v[i].power.known) {
			sum += ts->v[i].power.queued_w;
			n++;
		}
	watts = n ? sum / n : limit_w > 0 ? LIMIT_PART * limit_w : UNKNOWN_W;
	for (uint32_t i = 0; i < ts->n; i++)
		if (ts->v[i].used && ts->v[i].gpu == gpu && power_assume(&ts->v[i].power, watts))
			tenant_change(ts, &ts->v[i]);
}

/* Clock that its power is of. */
static uint32_t tenant_clock(const struct tenants *ts, const struct tenant *t)
{
	return ts->turns[t->gpu].clock->may ? t->clock_mhz : 0;
}

static struct arbiter_order power_order(const struct tenants *ts, const struct tenant *t, bool keep)
{
	struct arbiter_order o = { .kind = keep ? ORDER_KEEP : ORDER_FIND,
				   .power = { .uid = t->uid, .clock_mhz = tenant_clock(ts, t) } };

	memcpy(o.power.tenant, t->name, sizeof(o.power.tenant));
	return o;
}

static void power_look_up(struct tenants *ts, struct tenant *t)
{
	const struct arbiter_order o = power_order(ts, t, false);

	power_forget(&t->power, ts->out->order(ts->out->ctx, t->gpu, &o));
}

static void power_store(struct tenants *ts, struct tenant *t, double cv, double seconds)
{
	struct arbiter_order o = power_order(ts, t, true);

	o.power.power_w = t->power.mean_w;
	o.power.cv = cv;
	o.power.seconds = seconds;
	if (power_not_kept(&t->power) && ts->out->order(ts->out->ctx, t->gpu, &o))
		power_kept(&t->power);
}

void tenants_found(struct tenants *ts, uint32_t gpu, const struct hes_tenant_power *p)
{
	for (uint32_t i = 0; i < ts->n; i++) {
		struct tenant *t = &ts->v[i];

		if (!t->used || t->gpu != gpu || t->uid != p->uid ||
		    t->power.profile.state != PROFILE_REQUESTED ||
		    tenant_clock(ts, t) != p->clock_mhz || strcmp(t->name, p->tenant) != 0)
			continue;
		if (power_found(&t->power, p->power_w))
			tenant_change(ts, t);
		if (t->power.known)
			powers_assume(ts, gpu);
	}
}

void tenant_measured(struct tenants *ts, struct tenant *t, const struct reading *r, uint64_t now)
{
	const double estimate_w = power_watts(&t->power);
	const bool known = t->power.known;
	const struct power_news news =
		power_measured(&t->power, r->watts, r->ns, ts->c->profile_ns);
	const struct arbiter_note n = { ARBITER_PROFILED, t->gpu, t->uid,         t->pid,
					t->name,          "",     t->power.mean_w };

	sums_add(&t->sums, 0, (r->watts - estimate_w) * (double)r->ns * 1e-9, tenant_part(ts, t),
		 now);
	if (news.changed)
		tenant_change(ts, t);
	if (t->power.known && !known)
		powers_assume(ts, t->gpu);
	if (!news.profiled)
		return;
	power_store(ts, t, news.cv, news.seconds);
	ts->out->note(ts->out->ctx, &n);
}

/* --- places --- */

static void usage_keep(struct tenants *ts, struct tenant *t)
{
	struct arbiter_order o = { .kind = ORDER_USAGE, .usage.uid = t->uid };

	memcpy(o.usage.tenant, t->name, sizeof(o.usage.tenant));
	if (sums_not_kept(&t->sums, &o.usage.seconds, &o.usage.joules) &&
	    ts->out->order(ts->out->ctx, t->gpu, &o))
		sums_kept(&t->sums);
}

static void tenant_forget(struct tenants *ts, struct tenant *t)
{
	power_store(ts, t, 0, 0);
	usage_keep(ts, t);
	hes_fair_queue_remove(ts->turns[t->gpu].queue, t->queue, NULL);
	t->used = false;
}

void tenants_sweep(struct tenants *ts, uint64_t now)
{
	for (uint32_t i = 0; i < ts->n; i++) {
		struct tenant *t = &ts->v[i];

		if (!t->used)
			continue;
		/* Each once in a while, so that the store's writes are spread over time. */
		if ((now / SECOND + i) % KEEP_S == 0)
			usage_keep(ts, t);
		if (!t->n && now - t->left_ns > LINGER_NS)
			tenant_forget(ts, t);
	}
}

/* What was used comes first: there may not be room for all orders. */
void tenants_keep(struct tenants *ts)
{
	for (uint32_t i = 0; i < ts->n; i++)
		if (ts->v[i].used)
			usage_keep(ts, &ts->v[i]);
	for (uint32_t i = 0; i < ts->n; i++)
		if (ts->v[i].used)
			power_store(ts, &ts->v[i], 0, 0);
}

/* Its name is there, or there is room for it. There are more places than connections: one is free,
 * or of one that went. */
static struct tenant *tenant_place(struct tenants *ts, uint32_t uid, uint32_t gpu, const char *name)
{
	struct tenant *place = NULL;

	for (uint32_t i = 0; i < ts->n; i++) {
		struct tenant *t = &ts->v[i];

		if (t->used && t->gpu == gpu && t->uid == uid && strcmp(t->name, name) == 0)
			return t;
		if (!t->used)
			place = place && !place->used ? place : t;
		else if (!t->n && (!place || (place->used && t->left_ns < place->left_ns)))
			place = t;
	}
	if (place && place->used)
		tenant_forget(ts, place);
	return place;
}

uint32_t tenants_next(const struct tenants *ts, uint32_t gpu, struct hes_fair_turn *turn)
{
	const struct turns *u = &ts->turns[gpu];

	return hes_fair_queue_pick(u->queue, turn) ? u->by_queue[turn->tenant] : NONE;
}

uint64_t tenant_slice_ns(const struct tenants *ts, const struct tenant *t)
{
	struct hes_fair_usage u = { .slice = 1 };

	hes_fair_queue_usage(ts->turns[t->gpu].queue, t->queue, &u, NULL);
	return u.slice * ts->c->queue.quantum_ns;
}

/* --- coming and going --- */

static int tenant_begin(struct tenants *ts, struct tenant *t, uint32_t uid, uint32_t gpu,
			const struct fair_hello *h, uint64_t now)
{
	struct turns *u = &ts->turns[gpu];
	struct hes_fair_tenant spec;
	int rc;

	*t = (struct tenant){ .uid = uid,
			      .gpu = gpu,
			      .weight = h->weight,
			      .clock_mhz = h->clock_mhz,
			      .came_ns = now,
			      .sums.interval_ns = ts->c->queue.interval * ts->c->queue.quantum_ns,
			      .power.queued_w = HES_FAIR_MAX_NUMBER };
	memcpy(t->name, h->tenant, sizeof(t->name));
	spec = tenant_spec(t);
	rc = hes_fair_queue_add(u->queue, uid, &spec, &t->queue, NULL);
	if (rc)
		return rc;
	hes_fair_queue_set_user(u->queue, uid, user_weight(ts->connections, uid), NULL);
	t->used = true;
	u->by_queue[t->queue] = (uint32_t)(t - ts->v);
	power_look_up(ts, t);
	powers_assume(ts, gpu);
	return 0;
}

/* What a later HELLO says counts, but not against SET. */
static void tenant_take(struct tenants *ts, struct tenant *t, const struct fair_hello *h)
{
	if (!t->weight_set)
		t->weight = h->weight;
	if (t->clock_mhz != h->clock_mhz) {
		power_store(ts, t, 0, 0);
		t->clock_mhz = h->clock_mhz;
		power_look_up(ts, t);
	}
	tenant_change(ts, t);
}

uint32_t tenant_join(struct tenants *ts, struct connection *c, uint32_t gpu,
		     const struct fair_hello *h, uint64_t now)
{
	struct tenant *t = tenant_place(ts, c->uid, gpu, h->tenant);

	if (!t || (!t->used && tenant_begin(ts, t, c->uid, gpu, h, now)))
		return NONE;
	tenant_take(ts, t, h);
	t->n++;
	t->pid = c->pid;
	c->gpu = gpu;
	c->tenant = (uint32_t)(t - ts->v);
	c->name = t->name;
	c->greeted = true;
	return c->tenant;
}

void tenant_leave(struct tenants *ts, struct connection *c, uint64_t now)
{
	struct tenant *t = &ts->v[c->tenant];

	t->n--;
	c->greeted = false;
	for (uint32_t i = 0; t->pid == c->pid && i < ts->c->connections; i++)
		if (tenant_has(ts, t, &ts->connections->v[i]))
			t->pid = ts->connections->v[i].pid;
	if (t->n)
		return;
	t->left_ns = now;
	usage_keep(ts, t);
}

/* --- settings --- */

double tenant_part(const struct tenants *ts, const struct tenant *t)
{
	double sum = t->weight;

	for (const struct tenant *o = ts->v; o < ts->v + ts->n; o++)
		if (o != t && o->used && o->gpu == t->gpu && o->uid == t->uid && o->wanting)
			sum += o->weight;
	return user_weight(ts->connections, t->uid) * t->weight / sum;
}

void tenant_set_weight(struct tenants *ts, struct tenant *t, double weight)
{
	t->weight = weight;
	t->weight_set = true;
	tenant_change(ts, t);
}

void tenants_set_phi(struct tenants *ts, uint32_t gpu, double phi)
{
	hes_fair_queue_set_phi(ts->turns[gpu].queue, phi, NULL);
	ts->turns[gpu].phi = phi;
}

bool tenants_request_clock(const struct tenants *ts, uint32_t gpu)
{
	for (uint32_t i = 0; ts->turns[gpu].clock->may && i < ts->n; i++)
		if (ts->v[i].used && ts->v[i].n && ts->v[i].gpu == gpu && ts->v[i].clock_mhz)
			return true;
	return false;
}

void tenants_lose_clocks(struct tenants *ts, uint32_t gpu)
{
	for (uint32_t i = 0; i < ts->n; i++)
		if (ts->v[i].used && ts->v[i].gpu == gpu && ts->v[i].clock_mhz)
			power_look_up(ts, &ts->v[i]);
	powers_assume(ts, gpu);
}
