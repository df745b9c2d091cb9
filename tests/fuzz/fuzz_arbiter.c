/*
 * fuzz_arbiter.c - connects, packets, ticks and answers of drivers from any bytes: the arbiter
 * holds one lease a GPU at a time, sends only messages of the protocol, and asks to be called again
 * later than now.
 *
 * A step is a byte that says what, a byte that says who, and what the step needs.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arbiter/arbiter.h"

#define CONNECTIONS 12
#define GPUS        2
#define QUEUED      64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct world {
	const uint8_t *at, *end;
	uint64_t now;
	uint32_t uid_of[CONNECTIONS];
	bool used[CONNECTIONS];
	uint64_t lease[CONNECTIONS]; /* 0: none */
	size_t gpu_of[CONNECTIONS];
	uint64_t tags[2][QUEUED]; /* requested readings and clocks */
	size_t tag_gpu[2][QUEUED], n_tags[2];
	struct hes_tenant_power requested[QUEUED];
	size_t requested_gpu[QUEUED], n_requested;
	uint8_t full; /* sockets that are full: bits of connections */
};

static uint64_t take(struct world *w, size_t bytes)
{
	uint64_t v = 0;

	for (; bytes && w->at < w->end; bytes--)
		v = v << 8 | *w->at++;
	return v;
}

static int world_send(void *ctx, uint32_t id, const void *packet, size_t length)
{
	struct world *w = ctx;
	union fair_message m;

	if (id >= CONNECTIONS || fair_wire_parse(packet, length, &m))
		abort();
	if (w->full >> (id % 8) & 1)
		return -EAGAIN;
	if (m.head.type == FAIR_GRANT) {
		for (uint32_t i = 0; i < CONNECTIONS; i++)
			if (w->lease[i] && w->gpu_of[i] == w->gpu_of[id])
				abort();
		w->lease[id] = m.grant.lease;
	}
	if (m.head.type == FAIR_STOP && m.stop.lease != w->lease[id])
		abort();
	return 0;
}

static void world_close(void *ctx, uint32_t id)
{
	struct world *w = ctx;

	w->used[id] = false;
	w->lease[id] = 0;
}

static bool world_find(struct world *w, size_t gpu, const struct hes_tenant_power *p)
{
	if (w->n_requested == QUEUED)
		return false;
	w->requested_gpu[w->n_requested] = gpu;
	w->requested[w->n_requested++] = *p;
	return true;
}

static bool world_order(void *ctx, size_t gpu, const struct arbiter_order *o)
{
	struct world *w = ctx;
	const int what = o->kind == ORDER_CLOCK;

	if (o->kind == ORDER_FIND)
		return world_find(w, gpu, &o->power);
	if (o->kind == ORDER_USAGE || o->kind == ORDER_KEEP) {
		if (gpu >= GPUS || !isfinite(o->usage.joules) || !(o->usage.seconds >= 0) ||
		    (o->kind == ORDER_KEEP && !(o->power.power_w > 0)))
			abort();
		return o->usage.uid != 2;
	}
	if (w->n_tags[what] == QUEUED)
		return false;
	w->tag_gpu[what][w->n_tags[what]] = gpu;
	w->tags[what][w->n_tags[what]++] = o->tag;
	return true;
}

static void world_note(void *ctx, const struct arbiter_note *n)
{
	struct world *w = ctx;

	/* The pid is the connection's number. */
	if (n->kind == ARBITER_LOST_LEASE)
		w->lease[n->pid] = 0;
	if (n->kind == ARBITER_CONNECTED)
		w->gpu_of[n->pid] = n->gpu;
}

/* A packet that is nearly right, so that its bytes reach what is behind the checks. */
static size_t packet_make(struct world *w, uint32_t id, union fair_message *m)
{
	static const enum fair_message_type types[] = { FAIR_HELLO,  FAIR_WANT, FAIR_RELEASE,
							FAIR_STATUS, FAIR_SET,  FAIR_GRANT,
							FAIR_PING };
	size_t length = fair_wire_begin(m, types[take(w, 1) % (sizeof(types) / sizeof(types[0]))]);

	if (m->head.type == FAIR_HELLO) {
		m->hello.gpu[0] = (uint8_t)take(w, 1) % (GPUS + 1);
		m->hello.weight = (double)take(w, 2) / 100;
		m->hello.clock_mhz = (uint32_t)take(w, 1) % 4 * 300;
		m->hello.tenant[0] = (char)('a' + take(w, 1) % 6);
	} else if (m->head.type == FAIR_RELEASE) {
		m->release.lease = take(w, 1) % 4 ? w->lease[id] : take(w, 1);
		m->release.gpu_ns = take(w, 8);
		m->release.more = (uint32_t)take(w, 1) & 1;
	} else if (m->head.type == FAIR_SET) {
		m->set.phi = take(w, 1) & 1 ? NAN : (double)take(w, 1) / 200;
		m->set.weight = (double)take(w, 2) / 100;
		m->set.uid = take(w, 1) & 1 ? FAIR_ANY_USER : (uint32_t)take(w, 1) % 3;
		m->set.tenant[0] = take(w, 1) & 1 ? 0 : (char)('a' + take(w, 1) % 6);
	}
	return length;
}

static void message_step(struct arbiter *a, struct world *w, uint32_t id)
{
	union fair_message m;
	size_t length = packet_make(w, id, &m);

	/* The arbiter grants the GPU to another in the same call. */
	if (m.head.type == FAIR_RELEASE && m.release.lease == w->lease[id])
		w->lease[id] = 0;
	arbiter_message(a, id, &m, length, w->now);
}

static void answer_step(struct arbiter *a, struct world *w, unsigned what)
{
	static const int rcs[8] = { -EPERM, -EIO };
	struct arbiter_report r = { .kind = REPORT_SENTENCE, .text = "it failed" };
	size_t gpu = 0;

	if (what < 2 && w->n_tags[what]) {
		r.tag = w->tags[what][--w->n_tags[what]];
		gpu = w->tag_gpu[what][w->n_tags[what]];
		r.kind = what ? REPORT_CLOCK : REPORT_ENERGY;
		if (what) {
			r.rc = rcs[take(w, 1) % 8];
		} else {
			r.energy.joules = r.energy.step_j = (double)take(w, 4) / 10;
			r.energy.at_ns = w->now - take(w, 2);
			r.energy.step_ns = take(w, 1) & 1 ? 0 : r.energy.at_ns;
		}
	} else if (what == 2 && w->n_requested) {
		r.kind = REPORT_PROFILE;
		r.power = w->requested[--w->n_requested];
		r.power.power_w = (double)take(w, 2) / 10;
		gpu = w->requested_gpu[w->n_requested];
	} else if (what == 3) {
		r.kind = REPORT_READY;
		gpu = take(w, 1) % GPUS;
		r.refresh_ns = take(w, 4);
	} else if (what == 4 && take(w, 1) == 1) {
		r.kind = REPORT_GONE;
		gpu = take(w, 1) % GPUS;
	}
	arbiter_report(a, gpu, &r, w->now);
}

static void world_step(struct arbiter *a, struct world *w)
{
	unsigned what = (unsigned)take(w, 1) % 8;
	uint32_t id = (uint32_t)take(w, 1) % CONNECTIONS;

	if (what == 0 && !w->used[id]) {
		w->uid_of[id] = (uint32_t)take(w, 1) % 3;
		w->used[id] = true;
		arbiter_connect(a, id, w->uid_of[id], &(struct hes_process){ .pid = (pid_t)id },
				w->now);
	} else if (what <= 2) {
		message_step(a, w, id);
	} else if (what == 3) {
		size_t length = take(w, 1);
		const uint8_t *packet = w->at;

		length = length < (size_t)(w->end - w->at) ? length : (size_t)(w->end - w->at);
		w->at += length;
		w->lease[id] = length == sizeof(struct fair_release) ? 0 : w->lease[id];
		arbiter_message(a, id, packet, length, w->now);
	} else if (what == 4) {
		w->now += take(w, 1) << (take(w, 1) % 28);
		if (arbiter_tick(a, w->now) <= w->now)
			abort();
	} else if (what == 5) {
		arbiter_disconnect(a, id, w->now);
	} else if (what == 6) {
		w->full = (uint8_t)take(w, 1);
		arbiter_writable(a, id, w->now);
	} else {
		answer_step(a, w, id % 5);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct arbiter_gpu_config gpus[GPUS] = { { .uuid = { 0 }, .name = "a" },
							      { .uuid = { 1 }, .name = "b" } };
	struct world w = { .at = data, .end = data + len, .now = 1000000000 };
	const struct arbiter_out out = { &w, world_send, world_close, world_order, world_note };
	struct arbiter_config c = {
		.queue = { &hes_fair_policies[2], 0.7, 200, 1000000 },
		.gpus = gpus,
		.n_gpus = GPUS,
		.connections = CONNECTIONS,
		.kept = 2,
		.per_user = 5,
		.owner = 1,
		.max_weight = 2,
		.patience_ns = 2000000000,
		.window_ns = 1,
		.idle_ns = 1,
		.clocks = true,
	};
	struct arbiter *a;

	c.profile_ns = take(&w, 1) & 1 ? 2000000000 : 0;
	if (arbiter_create(&c, &out, w.now, &a, NULL))
		return 0;
	while (w.at < w.end)
		world_step(a, &w);
	arbiter_keep(a, w.now);
	arbiter_destroy(a);
	return 0;
}
