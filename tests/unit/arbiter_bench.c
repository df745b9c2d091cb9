/*
 * arbiter_bench.c - modelled programs on a virtual clock; see arbiter_bench.h.
 */
#include "arbiter_bench.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define ASKER   (BENCH_CLIENTS - 1) /* connection of STATUS and SET */
#define IDLE_NS (BENCH_MS / 2)

static const struct arbiter_gpu_config gpu = { .uuid = { 1, 2, 3 }, .name = "GPU", .limit_w = 300 };

struct arbiter_config bench_config(void)
{
	return (struct arbiter_config){
		.queue = { hes_fair_policy_find("etf", NULL), 0.7, 200, BENCH_MS },
		.gpus = &gpu,
		.n_gpus = 1,
		.connections = BENCH_CLIENTS,
		.per_user = 64,
		.owner = 1000,
		.max_weight = 1,
		.patience_ns = 2 * BENCH_SECOND,
		.window_ns = 2 * BENCH_MS,
		.idle_ns = IDLE_NS,
		.clocks = true,
	};
}

static void client_release_at(struct bench *b, struct bench_client *c, uint64_t at)
{
	c->next_ns = c->hangs ? BENCH_FOREVER : at > b->now ? at : b->now;
}

static void client_granted(struct bench *b, uint32_t id, const struct fair_grant *g)
{
	struct bench_client *c = &b->c[id];
	uint64_t end = BENCH_FOREVER;

	b->overlaps += b->holder != UINT32_MAX;
	b->holder = id;
	c->state = 2;
	c->lease = g->lease;
	c->slice_ns = g->slice_ns;
	c->granted_ns = b->now;
	c->begins_ns = b->now + b->switch_ns;
	c->leases++;
	if (b->now - c->wants_ns > c->longest_wait_ns)
		c->longest_wait_ns = b->now - c->wants_ns;
	if (g->slice_ns)
		end = b->now + g->slice_ns + hes_rng_below(&b->rng, c->kernel_ns + 1);
	c->goes_idle = c->left_ns != BENCH_FOREVER &&
		       (end == BENCH_FOREVER || c->begins_ns + c->left_ns < end);
	if (c->goes_idle)
		end = c->begins_ns + c->left_ns + IDLE_NS;
	if (c->holds_ns && b->now + c->holds_ns < end) {
		end = b->now + c->holds_ns;
		c->goes_idle = false;
	}
	client_release_at(b, c, end);
}

static void client_stopped(struct bench *b, uint32_t id, const struct fair_stop *s)
{
	struct bench_client *c = &b->c[id];
	uint64_t end = b->now + hes_rng_below(&b->rng, c->kernel_ns + 1);

	assert_int_equal(s->lease, c->lease);
	c->stops++;
	if (c->next_ns <= end)
		return;
	c->goes_idle = false;
	client_release_at(b, c, end > c->begins_ns ? end : c->begins_ns);
}

static int bench_send(void *ctx, uint32_t id, const void *packet, size_t length)
{
	struct bench *b = ctx;
	union fair_message m;

	/* A refusal may be for a program of another version. */
	if (fair_wire_parse(packet, length, &m)) {
		memcpy(&m, packet, length);
		assert_int_equal(m.head.type, FAIR_REFUSED);
	}
	b->c[id].version = m.head.version;
	if (m.head.type == FAIR_GRANT)
		client_granted(b, id, &m.grant);
	else if (m.head.type == FAIR_STOP)
		client_stopped(b, id, &m.stop);
	else if (m.head.type == FAIR_PREPARE)
		b->c[id].prepares++;
	else if (m.head.type == FAIR_PONG)
		b->c[id].pongs++;
	else if (m.head.type == FAIR_REFUSED)
		b->c[id].refused = m.answer.code;
	else if (m.head.type == FAIR_GPU)
		b->gpu = m.gpu;
	else if (m.head.type == FAIR_NOT_HELD)
		b->not_held[b->n_not_held++] = m.not_held;
	else if (m.head.type == FAIR_TENANT)
		b->rows[b->n_rows++] = m.tenant;
	else if (m.head.type == FAIR_END)
		b->ended = true;
	else if (m.head.type == FAIR_ANSWER)
		b->answer = m.answer;
	return 0;
}

static void bench_closed(void *ctx, uint32_t id)
{
	struct bench *b = ctx;

	if (b->holder == id)
		b->holder = UINT32_MAX;
	b->c[id].closed = true;
}

static bool bench_read(struct bench *b, uint64_t tag)
{
	if (b->n_reads == sizeof(b->reads) / sizeof(b->reads[0]))
		return false;
	b->reads[b->n_reads++] = tag;
	return true;
}

static void bench_clock(struct bench *b, const struct arbiter_order *o)
{
	b->clock_tag = o->tag;
	b->clock_wanted = o->mhz;
	b->clock_at_ns = b->clock_ns == BENCH_FOREVER ? BENCH_FOREVER : b->now + b->clock_ns;
}

static bool bench_usage(struct bench *b, const struct hes_tenant_usage *u)
{
	for (uint32_t i = 0; !b->store_is_full && i < b->n; i++)
		if (strcmp(b->c[i].tenant, u->tenant) == 0 && b->c[i].uid == u->uid) {
			b->c[i].kept_s += u->seconds;
			b->c[i].kept_j += u->joules;
		}
	return !b->store_is_full;
}

static bool bench_order(void *ctx, size_t at, const struct arbiter_order *o)
{
	struct bench *b = ctx;

	(void)at;
	if (o->kind == ORDER_ENERGY)
		return bench_read(b, o->tag);
	if ((o->kind == ORDER_USAGE || o->kind == ORDER_KEEP) && b->store_room && !--b->store_room)
		return ++b->store_room, false;
	if (o->kind == ORDER_USAGE)
		return bench_usage(b, &o->usage);
	if (o->kind == ORDER_CLOCK)
		bench_clock(b, o);
	else if (o->kind == ORDER_FIND)
		b->requested[b->n_requested++] = o->power;
	else if (b->n_kept < BENCH_CLIENTS)
		b->kept[b->n_kept++] = o->power;
	return true;
}

static void bench_note(void *ctx, const struct arbiter_note *n)
{
	struct bench *b = ctx;

	b->notes[n->kind]++;
	if (n->kind == ARBITER_LOST_LEASE)
		b->holder = UINT32_MAX;
}

void bench_open(struct bench *b, const struct arbiter_config *c, uint64_t seed)
{
	const struct arbiter_config usual = bench_config();
	const struct arbiter_out out = { b, bench_send, bench_closed, bench_order, bench_note };

	memset(b, 0, sizeof(*b));
	hes_rng_seed(&b->rng, seed);
	b->now = b->counter_ns = BENCH_SECOND;
	b->holder = UINT32_MAX;
	b->clock_at_ns = BENCH_FOREVER;
	b->idle_w = 50;
	b->set_uid = FAIR_ANY_USER;
	assert_int_equal(arbiter_create(c ? c : &usual, &out, b->now, &b->a, NULL), 0);
	b->tick = b->now;
}

void bench_close(struct bench *b)
{
	assert_int_equal(b->overlaps, 0);
	arbiter_destroy(b->a);
}

uint32_t bench_add(struct bench *b, const char *tenant, double weight, double power_w)
{
	struct bench_client *c = &b->c[b->n];

	*c = (struct bench_client){ .uid = 1000,
				    .weight = weight,
				    .power_w = power_w,
				    .draws_w = power_w,
				    .burst_ns = BENCH_FOREVER,
				    .comes_ns = b->now,
				    .next_ns = BENCH_FOREVER };
	snprintf(c->tenant, sizeof(c->tenant), "%s", tenant);
	return b->n++;
}

static void client_connect(struct bench *b, uint32_t id)
{
	struct bench_client *c = &b->c[id];
	union fair_message m;
	size_t length = fair_wire_begin(&m, FAIR_HELLO);

	c->connected = true;
	c->next_ns = b->now;
	arbiter_connect(b->a, id, c->uid, &(struct hes_process){ 100 + (pid_t)id, 50 + id },
			b->now);
	if (c->closed) {
		c->next_ns = BENCH_FOREVER;
		return;
	}
	memcpy(m.hello.gpu, gpu.uuid, sizeof(gpu.uuid));
	m.hello.weight = c->weight;
	m.hello.clock_mhz = c->clock_mhz;
	snprintf(m.hello.tenant, sizeof(m.hello.tenant), "%.60s", c->tenant);
	arbiter_message(b->a, id, &m, length, b->now);
}

static void client_want(struct bench *b, uint32_t id)
{
	struct bench_client *c = &b->c[id];
	union fair_message m;
	size_t length = fair_wire_begin(&m, FAIR_WANT);

	c->state = 1;
	c->left_ns = c->burst_ns;
	c->next_ns = BENCH_FOREVER;
	c->wants_ns = b->now;
	arbiter_message(b->a, id, &m, length, b->now);
}

static void client_release(struct bench *b, uint32_t id)
{
	struct bench_client *c = &b->c[id];
	uint64_t busy = b->now > c->begins_ns ? b->now - c->begins_ns : 0;
	union fair_message m;
	size_t length = fair_wire_begin(&m, FAIR_RELEASE);

	busy = c->goes_idle && busy > IDLE_NS ? busy - IDLE_NS : busy;
	c->used_ns += busy;
	if (c->left_ns != BENCH_FOREVER)
		c->left_ns -= busy < c->left_ns ? busy : c->left_ns;
	m.release.lease = c->lease;
	m.release.gpu_ns = c->lies ? c->reports_ns : busy;
	m.release.launches = 1;
	m.release.more = c->left_ns > 0;
	c->state = c->left_ns ? 1 : 0;
	c->wants_ns = b->now;
	c->next_ns = c->left_ns ? BENCH_FOREVER : b->now + c->pause_ns;
	b->holder = UINT32_MAX;
	arbiter_message(b->a, id, &m, length, b->now);
}

static void client_step(struct bench *b, uint32_t id)
{
	struct bench_client *c = &b->c[id];

	if (c->closed)
		return;
	if (!c->connected) {
		if (b->now >= c->comes_ns)
			client_connect(b, id);
	} else if (c->goes_ns && b->now >= c->goes_ns) {
		if (c->state == 2 && b->now > c->begins_ns)
			c->used_ns += b->now - c->begins_ns;
		c->next_ns = BENCH_FOREVER;
		c->state = 0;
		arbiter_disconnect(b->a, id, b->now);
	} else if (b->now >= c->next_ns) {
		if (c->state == 0)
			client_want(b, id);
		else if (c->state == 2)
			client_release(b, id);
	}
}

static uint64_t client_next(const struct bench_client *c)
{
	uint64_t next = c->connected ? c->next_ns : c->comes_ns;

	if (c->closed)
		return BENCH_FOREVER;
	return c->goes_ns && c->goes_ns < next ? c->goes_ns : next;
}

/* What the GPU draws from one event to the next. */
static void bench_draw(struct bench *b, uint64_t until)
{
	const struct bench_client *h = b->holder == UINT32_MAX ? NULL : &b->c[b->holder];

	b->joules += (h ? h->draws_w : b->idle_w) * (double)(until - b->now) * 1e-9;
	b->now = until;
	if (b->refresh_ns && b->now - b->counter_ns >= b->refresh_ns) {
		b->shown_j = b->joules;
		b->counter_ns = b->now;
	}
}

/* A step is seen after it came: its time is between two readings, as a gauge has it. */
static void bench_read_step(struct bench *b)
{
	const uint64_t half = b->refresh_ns / 2, middle = (b->looked_ns + b->now) / 2;

	if (b->shown_j > b->step_j) {
		b->step_j = b->shown_j;
		b->step_ns = middle > b->now - half ? middle : b->now - half;
	}
	b->looked_ns = b->now;
}

void bench_report(struct bench *b, struct arbiter_report r)
{
	arbiter_report(b->a, 0, &r, b->now);
}

void bench_ready(struct bench *b, uint64_t refresh_ns)
{
	bench_report(b, (struct arbiter_report){ .kind = REPORT_READY, .refresh_ns = refresh_ns });
}

void bench_processes(struct bench *b, struct arbiter_process *v, size_t n)
{
	bench_report(b, (struct arbiter_report){
				.kind = REPORT_PROCESSES, .processes = v, .n_processes = n });
}

static void bench_answer(struct bench *b)
{
	while (b->n_requested) {
		struct arbiter_report r = { .kind = REPORT_PROFILE,
					    .power = b->requested[--b->n_requested] };

		for (uint32_t i = 0; i < b->n; i++)
			if (strcmp(b->c[i].tenant, r.power.tenant) == 0 &&
			    b->c[i].clock_mhz == r.power.clock_mhz)
				r.power.power_w = b->c[i].power_w;
		bench_report(b, r);
	}
	if (b->now >= b->clock_at_ns) {
		struct arbiter_report r = { .kind = REPORT_CLOCK, .tag = b->clock_tag };

		b->clock_at_ns = BENCH_FOREVER;
		if (b->clock_fails > 0) {
			b->clock_fails--;
			r.rc = b->clock_rc;
			strcpy(r.text, "it failed");
			bench_report(b, r);
			return;
		}
		b->clock_mhz = b->clock_wanted;
		b->clocks_set++;
		bench_report(b, r);
	}
	while (b->n_reads) {
		uint64_t tag = b->reads[--b->n_reads];

		bench_read_step(b);
		bench_report(b, (struct arbiter_report){
					.kind = REPORT_ENERGY,
					.tag = tag,
					.energy = { b->shown_j, b->now, b->step_j, b->step_ns } });
	}
}

void bench_run(struct bench *b, uint64_t ns)
{
	uint64_t until = b->now + ns;

	while (b->now < until) {
		uint64_t next = b->tick < until ? b->tick : until;

		for (uint32_t i = 0; i < b->n; i++)
			next = client_next(&b->c[i]) < next ? client_next(&b->c[i]) : next;
		next = b->clock_at_ns < next ? b->clock_at_ns : next;
		if (b->refresh_ns && b->counter_ns + b->refresh_ns < next)
			next = b->counter_ns + b->refresh_ns;
		bench_draw(b, next > b->now ? next : b->now);
		for (uint32_t i = 0; i < b->n; i++)
			client_step(b, i);
		bench_answer(b);
		b->tick = arbiter_tick(b->a, b->now);
		assert_true(b->tick > b->now);
		bench_answer(b);
	}
}

uint64_t bench_take_used(struct bench *b, uint32_t client)
{
	struct bench_client *c = &b->c[client];
	uint64_t used = c->used_ns;

	c->used_ns = 0;
	if (c->state == 2 && b->now > c->begins_ns) {
		used += b->now - c->begins_ns;
		c->begins_ns = b->now;
	}
	return used;
}

uint64_t bench_shares_are(struct bench *b, const double *slices, uint32_t n, double off)
{
	uint64_t used[BENCH_CLIENTS], sum = 0;
	double all = 0;

	for (uint32_t i = 0; i < n; i++) {
		used[i] = bench_take_used(b, i);
		sum += used[i];
		all += slices[i];
	}
	for (uint32_t i = 0; i < n; i++)
		if (fabs((double)used[i] / (double)sum - slices[i] / all) > off)
			fail_msg("tenant %u: %.4f of the time, its slice is %.4f", i,
				 (double)used[i] / (double)sum, slices[i] / all);
	return sum;
}

static void bench_ask(struct bench *b, uint32_t uid, const union fair_message *m, size_t length)
{
	arbiter_connect(b->a, ASKER, uid, &(struct hes_process){ 99, 0 }, b->now);
	arbiter_message(b->a, ASKER, m, length, b->now);
	arbiter_disconnect(b->a, ASKER, b->now);
}

void bench_status(struct bench *b)
{
	union fair_message m;

	b->n_rows = b->n_not_held = 0;
	b->ended = false;
	bench_ask(b, 1001, &m, fair_wire_begin(&m, FAIR_STATUS));
	assert_true(b->ended);
}

const struct fair_tenant_row *bench_row(const struct bench *b, const char *tenant)
{
	for (size_t i = 0; i < b->n_rows; i++)
		if (strcmp(b->rows[i].tenant, tenant) == 0)
			return &b->rows[i];
	fail_msg("no row of %s", tenant);
	return NULL;
}

int bench_set(struct bench *b, uint32_t uid, double phi, const char *tenant, double weight)
{
	union fair_message m;
	size_t length = fair_wire_begin(&m, FAIR_SET);

	m.set.phi = phi;
	m.set.weight = weight;
	m.set.uid = b->set_uid;
	snprintf(m.set.tenant, sizeof(m.set.tenant), "%s", tenant);
	bench_ask(b, uid, &m, length);
	return b->answer.code;
}
