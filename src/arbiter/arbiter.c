/*
 * arbiter.c - the owners of the arbiter's state, each with a file of its own, and how they know
 * each other: messages of clients, reports of GPUs; see arbiter.h.
 *
 * Every public call changes state. Then the marked connections are closed and free GPUs go to the
 * next tenants, so that no connection is closed and no lease granted while a list is read.
 */
#include "arbiter/arbiter.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arbiter/listing.h"
#include "base/texts.h"
#include "base/utf8.h"

#define SPARE 64 /* tenants that left, in addition to those of all connections */

struct arbiter {
	struct arbiter_config c;
	struct arbiter_out out;
	uint64_t next_sweep_ns;
	struct connections connections;
	struct tenants tenants;
	struct gpu *gpus; /* [c.n_gpus] */
	struct listing listing;
};

/* --- create and destroy --- */

static int gpus_create(struct arbiter *a)
{
	a->gpus = calloc(a->c.n_gpus, sizeof(*a->gpus));
	for (uint32_t i = 0; a->gpus && i < a->c.n_gpus; i++)
		gpu_create(&a->gpus[i], &a->c, &a->out, &a->connections, &a->tenants, i);
	return a->gpus ? 0 : -ENOMEM;
}

int arbiter_create(const struct arbiter_config *c, const struct arbiter_out *out, uint64_t now,
		   struct arbiter **made, struct hes_err *err)
{
	struct arbiter *a = calloc(1, sizeof(*a));
	uint32_t n = c->connections + SPARE;
	int rc;

	if (!a)
		return hes_fail(err, -ENOMEM, "out of memory for an arbiter");
	a->c = *c;
	a->out = *out;
	a->next_sweep_ns = now;
	rc = connections_create(&a->connections, &a->c, &a->out);
	if (!rc)
		rc = tenants_create(&a->tenants, &a->c, &a->out, &a->connections, n);
	if (!rc)
		rc = gpus_create(a);
	a->listing = (struct listing){ .c = &a->c,
				       .connections = &a->connections,
				       .tenants = &a->tenants,
				       .gpus = a->gpus,
				       .started_ns = now };
	a->c.gpus = NULL;
	if (rc) {
		arbiter_destroy(a);
		return hes_fail(err, rc, "out of memory for an arbiter");
	}
	*made = a;
	return 0;
}

void arbiter_destroy(struct arbiter *a)
{
	if (!a)
		return;
	connections_free(&a->connections);
	if (a->tenants.c)
		tenants_free(&a->tenants);
	free(a->gpus);
	free(a);
}

/* --- connections and their messages --- */

static struct gpu *connection_gpu(struct arbiter *a, uint32_t id)
{
	return &a->gpus[a->connections.v[id].gpu];
}

static void connection_refuse(struct arbiter *a, uint32_t id, int code, const char *text)
{
	connection_answer(&a->connections, id, FAIR_REFUSED, code, text);
	connection_say(&a->connections, ARBITER_REFUSED, id, text);
	connection_close_soon(&a->connections, id);
}

static void connection_close(struct arbiter *a, uint32_t id, uint64_t now)
{
	struct connection *c = &a->connections.v[id];
	struct gpu *g = connection_gpu(a, id);

	if (c->greeted) {
		lease_close(g, id, now);
		connection_say(&a->connections, ARBITER_DISCONNECTED, id, NULL);
		tenant_leave(&a->tenants, c, now);
		gpu_rest_clock(g, now);
	}
	user_of(&a->connections, c->uid)->n--;
	connection_shut(&a->connections, id);
}

/* Close the marked connections, and give free GPUs to the next tenants. */
static void arbiter_settle(struct arbiter *a, uint64_t now)
{
	do {
		for (uint32_t i = 0; a->connections.closing && i < a->c.connections; i++)
			if (a->connections.v[i].closing)
				connection_close(a, i, now);
		for (size_t i = 0; i < a->c.n_gpus; i++)
			gpu_schedule(&a->gpus[i], now);
	} while (a->connections.closing);
}

/* @return 0; -EUSERS @all connections, or @own ones of the user, leave no room for another. A
 * trusted user also has those that are kept. */
static int room_check(const struct arbiter *a, uint32_t uid, uint32_t all, uint32_t own, bool kept,
		      struct hes_err *err)
{
	uint32_t more = kept ? a->c.kept : 0, most = a->c.connections - a->c.kept;

	if (own >= a->c.per_user + more)
		return hes_fail(err, -EUSERS, "user %u has %u connections, as many as one may have",
				uid, own);
	return all < most + more
		       ? 0
		       : hes_fail(err, -EUSERS,
				  "the arbiter has %u connections, as many as it takes", all);
}

void arbiter_connect(struct arbiter *a, uint32_t id, uint32_t uid, const struct hes_process *of,
		     uint64_t now)
{
	struct user *u = user_of(&a->connections, uid);
	struct hes_err err;
	int rc = room_check(a, uid, a->connections.used, u->n,
			    user_is_trusted(&a->connections, uid), &err);

	u->n++;
	connection_open(&a->connections, id, uid, of, now);
	if (rc)
		connection_refuse(a, id, rc, err.msg);
	arbiter_settle(a, now);
}

void arbiter_disconnect(struct arbiter *a, uint32_t id, uint64_t now)
{
	if (id >= a->c.connections || !a->connections.v[id].used)
		return;
	connection_close_soon(&a->connections, id);
	arbiter_settle(a, now);
}

static uint32_t gpu_find(const struct arbiter *a, const uint8_t uuid[16])
{
	for (uint32_t i = 0; i < a->c.n_gpus; i++)
		if (memcmp(a->gpus[i].about.uuid, uuid, 16) == 0)
			return i;
	return NONE;
}

static int weight_check(double weight, struct hes_err *err)
{
	if (weight >= HES_FAIR_MIN_NUMBER && weight <= HES_FAIR_MAX_NUMBER)
		return 0;
	return hes_fail(err, -EINVAL, "weight %g is outside %g to %g", weight, HES_FAIR_MIN_NUMBER,
			HES_FAIR_MAX_NUMBER);
}

static int hello_check_weight(const struct arbiter *a, uint32_t uid, double weight,
			      struct hes_err *err)
{
	if (weight_check(weight, err))
		return -EINVAL;
	if (weight <= a->c.max_weight || user_is_trusted(&a->connections, uid))
		return 0;
	return hes_fail(err, -EPERM,
			"weight %g: user %u may ask for %g at most; heshare fair serve "
			"--max-weight, or heshare fair set, allows more",
			weight, uid, a->c.max_weight);
}

static int hello_check_clock(const struct arbiter_gpu_config *g, uint32_t mhz, struct hes_err *err)
{
	if (!mhz || !g->clock_max_mhz || (mhz >= g->clock_min_mhz && mhz <= g->clock_max_mhz))
		return 0;
	return hes_fail(err, -ERANGE, "clock: %s does not run at %u MHz; it has %u to %u MHz",
			g->name, mhz, g->clock_min_mhz, g->clock_max_mhz);
}

/* Tenants of root and of the owner leave the connections that are kept. */
static int hello_check_room(const struct arbiter *a, uint32_t uid, struct hes_err *err)
{
	uint32_t own = 0;

	for (uint32_t i = 0; i < a->c.connections; i++)
		own += a->connections.v[i].greeted && a->connections.v[i].uid == uid;
	return room_check(a, uid, a->connections.used - 1, own, false, err);
}

static int hello_take(struct arbiter *a, uint32_t id, const struct fair_hello *h, uint64_t now,
		      struct hes_err *err)
{
	uint32_t gpu = gpu_find(a, h->gpu);

	if (a->connections.v[id].greeted)
		return hes_fail(err, -EALREADY, "a second HELLO on one connection");
	if (gpu == NONE)
		return hes_fail(err, -ENODEV, "this GPU is not shared by the arbiter");
	if (hello_check_room(a, a->connections.v[id].uid, err) ||
	    hello_check_weight(a, a->connections.v[id].uid, h->weight, err))
		return err->code;
	if (hello_check_clock(&a->gpus[gpu].about, h->clock_mhz, err))
		return err->code;
	if (hes_check_name("the tenant's name", h->tenant, FAIR_NAME_MAX - 1, err))
		return -EINVAL;
	gpu_account(&a->gpus[gpu], now);
	if (tenant_join(&a->tenants, &a->connections.v[id], gpu, h, now) == NONE)
		return hes_fail(err, -ENOMEM, "the arbiter has no room for another tenant");
	return 0;
}

static void connection_hello(struct arbiter *a, uint32_t id, const struct fair_hello *h,
			     uint64_t now)
{
	union fair_message m;
	struct hes_err err;
	size_t length;
	int rc = hello_take(a, id, h, now, &err);

	if (rc) {
		connection_refuse(a, id, rc, err.msg);
		return;
	}
	connection_say(&a->connections, ARBITER_CONNECTED, id, NULL);
	length = fair_wire_begin(&m, FAIR_WELCOME);
	m.welcome.window_ns = a->c.window_ns;
	m.welcome.idle_ns = a->c.idle_ns;
	connection_send(&a->connections, id, &m, length);
}

static bool set_means(const struct tenant *t, uint32_t gpu, const struct fair_set *s)
{
	return t->used && (gpu == NONE || t->gpu == gpu) &&
	       (s->uid == FAIR_ANY_USER || t->uid == s->uid) && strcmp(t->name, s->tenant) == 0;
}

/* Only one user has tenants of this name, or SET names the user. */
static int set_check_user(const struct arbiter *a, uint32_t gpu, const struct fair_set *s,
			  struct hes_err *err)
{
	const struct tenant *first = NULL;

	for (const struct tenant *t = a->tenants.v; t < a->tenants.v + a->tenants.n; t++) {
		if (!set_means(t, gpu, s))
			continue;
		first = first ? first : t;
		if (t->uid != first->uid)
			return hes_fail(err, -EINVAL,
					"--user is missing: users %u and %u have a tenant \"%s\" "
					"each",
					first->uid, t->uid, s->tenant);
	}
	return first ? 0
		     : hes_fail(err, -ENOENT, "--tenant: there is no tenant \"%s\"%s", s->tenant,
				s->uid == FAIR_ANY_USER ? "" : " of this user");
}

static void tenants_set_weight(struct arbiter *a, uint32_t gpu, const struct fair_set *s,
			       uint64_t now)
{
	for (uint32_t i = 0; i < a->tenants.n; i++) {
		struct tenant *t = &a->tenants.v[i];

		if (!set_means(t, gpu, s))
			continue;
		gpu_account(&a->gpus[t->gpu], now);
		tenant_set_weight(&a->tenants, t, s->weight);
	}
}

static void gpus_set_phi(struct arbiter *a, uint32_t gpu, double phi, uint64_t now)
{
	for (uint32_t i = 0; i < a->c.n_gpus; i++)
		if (gpu == NONE || i == gpu) {
			gpu_account(&a->gpus[i], now);
			tenants_set_phi(&a->tenants, i, phi);
		}
}

/* A weight without a tenant is that of a user. */
static int set_user_weight(struct arbiter *a, const struct fair_set *s, uint64_t now,
			   struct hes_err *err)
{
	if (s->uid == FAIR_ANY_USER)
		return hes_fail(err, -EINVAL, "a weight, but no tenant and no user");
	if (weight_check(s->weight, err))
		return -EINVAL;
	if (user_set_weight(&a->connections, s->uid, s->weight, err))
		return err->code;
	for (uint32_t i = 0; i < a->c.n_gpus; i++) {
		gpu_account(&a->gpus[i], now);
		hes_fair_queue_set_user(a->tenants.turns[i].queue, s->uid, s->weight, NULL);
	}
	return 0;
}

static int set_take(struct arbiter *a, uint32_t id, const struct fair_set *s, uint64_t now,
		    struct hes_err *err)
{
	static const uint8_t all[16];
	uint32_t gpu = gpu_find(a, s->gpu), uid = a->connections.v[id].uid;

	if (!user_is_trusted(&a->connections, uid))
		return hes_fail(err, -EPERM, "only user %u and root may change settings",
				a->c.owner);
	if (gpu == NONE && memcmp(s->gpu, all, 16) != 0)
		return hes_fail(err, -ENOENT, "--gpus: the arbiter does not share this GPU");
	if (!isnan(s->phi) && !(s->phi >= 0 && s->phi <= 1))
		return hes_fail(err, -EINVAL, "phi %g is outside 0 to 1", s->phi);
	if (*s->tenant && weight_check(s->weight, err))
		return -EINVAL;
	if (*s->tenant && set_check_user(a, gpu, s, err))
		return err->code;
	if (!*s->tenant && !isnan(s->weight) && set_user_weight(a, s, now, err))
		return err->code;
	if (*s->tenant)
		tenants_set_weight(a, gpu, s, now);
	if (!isnan(s->phi))
		gpus_set_phi(a, gpu, s->phi, now);
	return 0;
}

static void connection_set(struct arbiter *a, uint32_t id, const struct fair_set *s, uint64_t now)
{
	struct hes_err err = { 0 };
	int rc = set_take(a, id, s, now, &err);
	char what[FAIR_NAME_MAX + 60] = "";

	if (*s->tenant)
		hes_text_add(what, sizeof(what), "; ", "tenant %s has weight %g", s->tenant,
			     s->weight);
	else if (!isnan(s->weight))
		hes_text_add(what, sizeof(what), "; ", "user %u has weight %g", s->uid, s->weight);
	if (!isnan(s->phi))
		hes_text_add(what, sizeof(what), "; ", "phi is %g", s->phi);
	if (!rc)
		connection_say(&a->connections, ARBITER_CHANGED, id, what);
	connection_answer(&a->connections, id, FAIR_ANSWER, rc, rc ? err.msg : what);
}

static void connection_pong(struct arbiter *a, uint32_t id)
{
	union fair_message m;

	connection_send(&a->connections, id, &m, fair_wire_begin(&m, FAIR_PONG));
}

/* @return whether the message is one that the connection may send now */
static bool connection_handle(struct arbiter *a, uint32_t id, const union fair_message *m,
			      uint64_t now)
{
	bool greeted = a->connections.v[id].greeted;

	if (m->head.type == FAIR_HELLO)
		connection_hello(a, id, &m->hello, now);
	else if (m->head.type == FAIR_STATUS)
		listing_begin(&a->listing, id, now);
	else if (m->head.type == FAIR_SET)
		connection_set(a, id, &m->set, now);
	else if (m->head.type == FAIR_WANT && greeted)
		lease_want(connection_gpu(a, id), id, now);
	else if (m->head.type == FAIR_RELEASE && greeted)
		lease_release(connection_gpu(a, id), id, &m->release, now);
	else if (m->head.type == FAIR_PING && greeted)
		connection_pong(a, id);
	else
		return false;
	return true;
}

void arbiter_message(struct arbiter *a, uint32_t id, const void *packet, size_t length,
		     uint64_t now)
{
	struct connection *c = id < a->c.connections ? &a->connections.v[id] : NULL;
	union fair_message m;
	char text[FAIR_TEXT_MAX];
	int rc;

	if (!c || !c->used || c->closing)
		return;
	rc = fair_wire_parse(packet, length, &m);
	if (connection_floods(&a->connections, id,
			      !rc && (m.head.type == FAIR_STATUS || m.head.type == FAIR_SET),
			      now)) {
		connection_say(&a->connections, ARBITER_FLOOD, id, NULL);
		connection_close_soon(&a->connections, id);
	} else if (rc == -EPROTONOSUPPORT) {
		fair_wire_say_version(packet, "the program", "the arbiter", text);
		memcpy(&m.head, packet, sizeof(m.head));
		c->version = m.head.version;
		connection_refuse(a, id, rc, text);
	} else if (rc || !connection_handle(a, id, &m, now)) {
		connection_say(&a->connections, ARBITER_BAD_PACKET, id,
			       rc ? "a packet that is no message"
				  : "a message that is out of place");
		connection_close_soon(&a->connections, id);
	}
	arbiter_settle(a, now);
}

void arbiter_writable(struct arbiter *a, uint32_t id, uint64_t now)
{
	if (id < a->c.connections && a->connections.v[id].used)
		listing_go_on(&a->listing, id, now);
	arbiter_settle(a, now);
}

bool arbiter_waits_to_write(const struct arbiter *a, uint32_t id)
{
	return id < a->c.connections && a->connections.v[id].listing;
}

uint64_t arbiter_tick(struct arbiter *a, uint64_t now)
{
	uint64_t next;

	if (now >= a->next_sweep_ns) {
		tenants_sweep(&a->tenants, now);
		for (size_t i = 0; i < a->c.n_gpus; i++)
			gpu_second(&a->gpus[i], now);
		a->next_sweep_ns = now + SECOND;
	}
	arbiter_settle(a, now);
	next = a->next_sweep_ns;
	for (size_t i = 0; i < a->c.n_gpus; i++) {
		uint64_t due = gpu_deadline(&a->gpus[i]);

		next = due < next ? due : next;
	}
	return next;
}

void arbiter_keep(struct arbiter *a, uint64_t now)
{
	for (size_t i = 0; i < a->c.n_gpus; i++)
		gpu_account(&a->gpus[i], now);
	tenants_keep(&a->tenants);
}

void arbiter_report(struct arbiter *a, size_t gpu, const struct arbiter_report *r, uint64_t now)
{
	gpu_report(&a->gpus[gpu], r, now);
	arbiter_settle(a, now);
}
