/*
 * test_fair_threads.c - the fair scheduler with threads: submits from many, one tenant at a time,
 * ends with work pending. Nothing here depends on how fast the machine is; build with
 * -Db_sanitize=thread to find races.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/rng.h"
#include "fair_scheduler.h"
#include "unit_test.h"

#define TENANTS 4
#define STREAMS 3
#define THREADS 6
#define ITEMS   400 /* of a thread */

static struct hes_fair_scheduler *create(unsigned workers)
{
	const struct hes_fair_cpu cpu = { .workers = workers };
	const struct hes_fair_scheduler_config c = {
		.queue = { hes_fair_policy_find("etf", NULL), 0.7, 40, 10000 },
		.executor = &hes_fair_cpu_executor,
		.executor_config = &cpu,
	};
	struct hes_fair_scheduler *s = NULL;

	assert_int_equal(hes_fair_scheduler_create(&c, &s, NULL), 0);
	return s;
}

static uint32_t add(struct hes_fair_scheduler *s, double power_w)
{
	uint32_t tenant = UINT32_MAX;

	assert_int_equal(
		hes_fair_scheduler_add(s, &(struct hes_fair_member){ "tenant", 1, power_w, 0 },
				       &tenant, NULL),
		0);
	return tenant;
}

static struct hes_fair_stream *stream_of(struct hes_fair_scheduler *s, uint32_t tenant)
{
	struct hes_fair_stream *st = NULL;

	assert_int_equal(hes_fair_stream_create(s, tenant, &st, NULL), 0);
	return st;
}

/* What items see while they run. */
static atomic_int running[TENANTS]; /* items of a tenant that run now */
static atomic_int wrong; /* items that saw another tenant's run, or theirs out of order */

/* One stream, all of whose items are numbered by one thread. */
struct lane {
	struct hes_fair_stream *stream;
	uint32_t tenant;
	atomic_int next; /* number of the item that must run next */
	atomic_int done;
};

struct job {
	struct lane *lane;
	int number;
};

static int job_run(void *arg, void *stream)
{
	struct job *j = arg;

	(void)stream;
	atomic_fetch_add(&running[j->lane->tenant], 1);
	for (uint32_t i = 0; i < TENANTS; i++)
		if (i != j->lane->tenant && atomic_load(&running[i]))
			atomic_fetch_add(&wrong, 1);
	if (atomic_fetch_add(&j->lane->next, 1) != j->number)
		atomic_fetch_add(&wrong, 1);
	for (volatile int k = 0; k < 300; k++)
		;
	atomic_fetch_sub(&running[j->lane->tenant], 1);
	return 0;
}

static void job_done(void *arg, int rc)
{
	struct job *j = arg;

	if (rc || atomic_fetch_add(&j->lane->done, 1) != j->number)
		atomic_fetch_add(&wrong, 1);
	free(j);
}

static void *submit_many(void *arg)
{
	struct lane *lanes = arg;

	for (int k = 0; k < ITEMS; k++) {
		struct job *j = malloc(sizeof(*j));
		struct lane *l = &lanes[k % STREAMS];

		*j = (struct job){ l, k / STREAMS };
		if (hes_fair_stream_submit(
			    l->stream,
			    &(struct hes_fair_work){ .run = job_run, .done = job_done, .arg = j },
			    NULL))
			atomic_fetch_add(&wrong, 1);
	}
	return NULL;
}

static void check_many(unsigned workers)
{
	struct hes_fair_scheduler *s = create(workers);
	static struct lane lanes[THREADS][STREAMS];
	pthread_t threads[THREADS];
	uint64_t items = 0;

	for (uint32_t i = 0; i < TENANTS; i++)
		assert_int_equal(add(s, 100 + 50 * i), i);
	for (int i = 0; i < THREADS; i++) {
		for (int k = 0; k < STREAMS; k++) {
			struct lane *l = &lanes[i][k];

			l->tenant = (uint32_t)(i + k) % TENANTS;
			l->stream = stream_of(s, l->tenant);
			atomic_store(&l->next, 0);
			atomic_store(&l->done, 0);
		}
	}
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, submit_many, lanes[i]), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(hes_fair_stream_sync(lanes[0][0].stream, NULL), 0);
	assert_int_equal(atomic_load(&lanes[0][0].done), (ITEMS + STREAMS - 1) / STREAMS);
	assert_int_equal(hes_fair_tenant_sync(s, 1, NULL), 0);
	assert_int_equal(hes_fair_scheduler_sync(s, NULL), 0);
	for (uint32_t i = 0; i < TENANTS; i++) {
		struct hes_fair_statistics u;

		assert_int_equal(hes_fair_scheduler_statistics(s, i, &u, NULL), 0);
		assert_int_equal(u.waiting, 0);
		assert_true(u.time_ns > 0 && u.energy_j > 0);
		items += u.items;
	}
	assert_int_equal(items, THREADS * ITEMS);
	assert_int_equal(atomic_load(&wrong), 0);
	hes_fair_scheduler_destroy(s);
}

TEST(one_tenant_runs_at_a_time_and_streams_are_in_order)
{
	check_many(1);
	check_many(3);
}

/* Items that wait for the gate, and what became of them. */
struct gate {
	atomic_bool open;
	atomic_int begun, ran, cancelled, ended;
};

static int gate_run(void *arg, void *stream)
{
	struct gate *g = arg;

	(void)stream;
	atomic_fetch_add(&g->begun, 1);
	while (!atomic_load(&g->open))
		sched_yield();
	atomic_fetch_add(&g->ran, 1);
	return 0;
}

static void gate_done(void *arg, int rc)
{
	struct gate *g = arg;

	atomic_fetch_add(&g->ended, 1);
	if (rc == -ECANCELED)
		atomic_fetch_add(&g->cancelled, 1);
}

static int gate_submit(struct hes_fair_stream *st, struct gate *g)
{
	return hes_fair_stream_submit(
		st, &(struct hes_fair_work){ .run = gate_run, .done = gate_done, .arg = g }, NULL);
}

static void *open_gate(void *arg)
{
	struct gate *g = arg;

	for (int k = 0; k < 1000; k++)
		sched_yield();
	atomic_store(&g->open, true);
	return NULL;
}

static void check_gate(const struct gate *g, int items)
{
	assert_int_equal(atomic_load(&g->ended), items);
	assert_int_equal(atomic_load(&g->ran) + atomic_load(&g->cancelled), items);
}

TEST(destroy_ends_running_items_and_drops_the_rest)
{
	for (int round = 0; round < 20; round++) {
		struct hes_fair_scheduler *s = create(2);
		struct gate g = { 0 };
		pthread_t opener;

		for (int i = 0; i < 40; i++)
			assert_int_equal(gate_submit(stream_of(s, add(s, 100)), &g), 0);
		if (round % 2)
			sched_yield();
		pthread_create(&opener, NULL, open_gate, &g);
		hes_fair_scheduler_destroy(s);
		pthread_join(opener, NULL);
		check_gate(&g, 40);
	}
}

struct syncer {
	struct hes_fair_scheduler *s;
	uint32_t tenant;
	atomic_int rc;
};

static void *sync_tenant(void *arg)
{
	struct syncer *y = arg;

	atomic_store(&y->rc, hes_fair_tenant_sync(y->s, y->tenant, NULL));
	return NULL;
}

/* A sync of a tenant that is removed meanwhile ends, with or before it. */
TEST(remove_waits_for_threads_in_a_sync)
{
	for (int round = 0; round < 50; round++) {
		struct syncer y = { .s = create(1), .rc = 1 };
		struct gate g = { 0 };
		pthread_t opener, threads[3];

		y.tenant = add(y.s, 100);
		for (int i = 0; i < 20; i++)
			assert_int_equal(gate_submit(stream_of(y.s, y.tenant), &g), 0);
		for (int i = 0; i < 3; i++)
			pthread_create(&threads[i], NULL, sync_tenant, &y);
		pthread_create(&opener, NULL, open_gate, &g);
		for (int i = round % 7; i--;)
			sched_yield();
		assert_int_equal(hes_fair_scheduler_remove(y.s, y.tenant, NULL), 0);
		assert_int_equal(hes_fair_scheduler_remove(y.s, y.tenant, NULL), -ENOENT);
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
		pthread_join(opener, NULL);
		assert_true(atomic_load(&y.rc) <= 0);
		hes_fair_scheduler_destroy(y.s);
		check_gate(&g, 20);
	}
}

TEST(remove_waits_for_the_running_item)
{
	for (int round = 0; round < 20; round++) {
		struct hes_fair_scheduler *s = create(2);
		uint32_t a = add(s, 100), b = add(s, 100);
		struct hes_fair_stream *of_a = stream_of(s, a), *of_b = stream_of(s, b);
		struct gate g = { 0 }, h = { 0 };
		pthread_t opener;

		atomic_store(&h.open, true);
		for (int i = 0; i < 10; i++) {
			assert_int_equal(gate_submit(of_a, &g), 0);
			assert_int_equal(gate_submit(of_b, &h), 0);
		}
		pthread_create(&opener, NULL, open_gate, &g);
		assert_int_equal(hes_fair_scheduler_remove(s, a, NULL), 0);
		check_gate(&g, 10);
		assert_int_equal(hes_fair_scheduler_sync(s, NULL), 0);
		check_gate(&h, 10);
		assert_int_equal(atomic_load(&h.cancelled), 0);
		pthread_join(opener, NULL);
		hes_fair_scheduler_destroy(s);
	}
}

struct waiting {
	struct hes_fair_scheduler *s;
	int rc;
};

static void *wait_for_all(void *arg)
{
	struct waiting *w = arg;

	w->rc = hes_fair_scheduler_sync(w->s, NULL);
	return NULL;
}

static void *destroy(void *scheduler)
{
	hes_fair_scheduler_destroy(scheduler);
	return NULL;
}

/* The item ends only after the sync has returned, so destroy cannot have finished before. */
TEST(destroy_lets_threads_leave_their_sync)
{
	struct hes_fair_scheduler *s = create(1);
	struct gate g = { 0 };
	struct waiting w = { s, 0 };
	pthread_t waiter, destroyer;

	assert_int_equal(gate_submit(stream_of(s, add(s, 100)), &g), 0);
	while (!atomic_load(&g.begun))
		sched_yield();
	pthread_create(&waiter, NULL, wait_for_all, &w);
	pthread_create(&destroyer, NULL, destroy, s);
	pthread_join(waiter, NULL);
	assert_int_equal(w.rc, -ECANCELED);
	atomic_store(&g.open, true);
	pthread_join(destroyer, NULL);
	check_gate(&g, 1);
}

/* Tenants that come and go, each with its own streams and items, while one stays. */
struct visitor {
	struct hes_fair_scheduler *s;
	uint64_t seed;
	int submitted;
	struct gate g;
};

static void visit(struct visitor *v, struct hes_rng *rng)
{
	struct hes_fair_stream *st[3];
	struct hes_fair_statistics u;
	uint32_t tenant = add(v->s, 50 + 100 * hes_rng_unit(rng));

	for (int i = 0; i < 3; i++)
		st[i] = stream_of(v->s, tenant);
	for (int i = 0; i < 20; i++, v->submitted++)
		assert_int_equal(gate_submit(st[hes_rng_below(rng, 3)], &v->g), 0);
	switch (hes_rng_below(rng, 4)) {
	case 0:
		assert_int_equal(hes_fair_stream_sync(st[1], NULL), 0);
		break;
	case 1:
		assert_int_equal(hes_fair_tenant_sync(v->s, tenant, NULL), 0);
		assert_int_equal(hes_fair_scheduler_statistics(v->s, tenant, &u, NULL), 0);
		assert_int_equal(u.items, 20);
		break;
	case 2:
		assert_int_equal(hes_fair_scheduler_sync(v->s, NULL), 0);
		assert_int_equal(hes_fair_scheduler_set_phi(v->s, hes_rng_unit(rng), NULL), 0);
		break;
	}
	hes_fair_stream_destroy(st[0]);
	assert_int_equal(hes_fair_scheduler_remove(v->s, tenant, NULL), 0);
}

static void *visit_often(void *arg)
{
	struct visitor *v = arg;
	struct hes_rng rng;

	hes_rng_seed(&rng, v->seed);
	for (int k = 0; k < 40; k++)
		visit(v, &rng);
	return NULL;
}

TEST(tenants_come_and_go_in_many_threads)
{
	struct hes_fair_scheduler *s = create(3);
	struct visitor v[4];
	pthread_t threads[4];
	struct gate stays = { .open = true };
	struct hes_fair_stream *st = stream_of(s, add(s, 100));

	for (uint64_t i = 0; i < 4; i++) {
		v[i] = (struct visitor){ .s = s, .seed = i, .g = { .open = true } };
		assert_int_equal(pthread_create(&threads[i], NULL, visit_often, &v[i]), 0);
	}
	for (int i = 0; i < 1000; i++)
		assert_int_equal(gate_submit(st, &stays), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		check_gate(&v[i].g, v[i].submitted);
	}
	assert_int_equal(hes_fair_stream_sync(st, NULL), 0);
	check_gate(&stays, 1000);
	assert_int_equal(hes_fair_scheduler_turn(s, NULL), -EINVAL); /* it has a thread */
	hes_fair_scheduler_destroy(s);
}

/* The next request of a client is submitted when the last one has been answered. */
struct client {
	struct hes_fair_stream *st;
	atomic_int left;
	atomic_int answered;
};

static int client_run(void *arg, void *stream)
{
	(void)arg;
	(void)stream;
	return 0;
}

static void client_done(void *arg, int rc)
{
	struct client *c = arg;

	atomic_fetch_add(&c->answered, 1);
	if (!rc && atomic_fetch_sub(&c->left, 1) > 0)
		hes_fair_stream_submit(
			c->st,
			&(struct hes_fair_work){ .run = client_run, .done = client_done, .arg = c },
			NULL);
}

TEST(done_may_submit)
{
	struct hes_fair_scheduler *s = create(2);
	struct client c[3];

	for (int i = 0; i < 3; i++) {
		c[i].st = stream_of(s, add(s, 100));
		atomic_init(&c[i].left, 500);
		atomic_init(&c[i].answered, 0);
		assert_int_equal(
			hes_fair_stream_submit(c[i].st,
					       &(struct hes_fair_work){ .run = client_run,
									.done = client_done,
									.arg = &c[i] },
					       NULL),
			0);
	}
	for (int i = 0; i < 3; i++)
		while (atomic_load(&c[i].answered) < 501)
			sched_yield();
	hes_fair_scheduler_destroy(s);
	for (int i = 0; i < 3; i++)
		assert_int_equal(atomic_load(&c[i].answered), 501);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
