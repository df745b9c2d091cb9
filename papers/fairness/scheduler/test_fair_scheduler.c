/*
 * test_fair_scheduler.c - turns of tenants on a virtual clock, exactly: order, shares against a
 * plain model, windows, clocks, meters, errors. Threads are in test_fair_threads.c.
 */
#include <math.h>

#include "base/rng.h"
#include "fair_scheduler.h"
#include "latency.h"
#include "unit_test.h"

#define QUANTUM 1000 /* ns */
#define MANY    8

enum { TIME, ENERGY, ETF };

/* An executor with a virtual clock: items run one after the other, whatever their stream. */
struct fake {
	uint64_t now_ns, idle_ns; /* idle from then on */
	uint64_t began_ns;
	struct fake_item {
		void *item;
		uint64_t end_ns;
		int rc;
	} items[HES_FAIR_MAX_DEPTH];
	unsigned first, n, greatest; /* on their way; the most there were */
	int streams;                 /* open */
	int refuses;                 /* what begin returns */
};

static struct fake fake; /* the one of the test that runs */

struct piece {
	uint64_t ns;
	int rc;
	char letter;                   /* written to the log by run */
	struct hes_fair_stream *again; /* submitted there again when it has ended */
	uint64_t budget;               /* how often */
	int ended, last_rc;
};

static char log_text[256];
static size_t log_length;

static void log_letter(char letter)
{
	if (letter && log_length + 1 < sizeof(log_text)) {
		log_text[log_length++] = letter;
		log_text[log_length] = '\0';
	}
}

static int piece_run(void *arg, void *stream)
{
	struct piece *p = arg;

	(void)stream;
	log_letter(p->letter);
	return p->rc;
}

static int submit(struct hes_fair_stream *stream, struct piece *p);

static void piece_done(void *arg, int rc)
{
	struct piece *p = arg;

	p->ended++;
	p->last_rc = rc;
	if (p->again && p->budget && rc != -ECANCELED) {
		p->budget--;
		assert_int_equal(submit(p->again, p), 0);
	}
}

static int submit(struct hes_fair_stream *stream, struct piece *p)
{
	return hes_fair_stream_submit(
		stream, &(struct hes_fair_work){ .run = piece_run, .done = piece_done, .arg = p },
		NULL);
}

static int fake_open(const void *config, void **self, struct hes_fair_depth *depth,
		     struct hes_err *err)
{
	(void)err;
	fake = (struct fake){ .now_ns = 1000000 };
	log_length = 0;
	log_text[0] = '\0';
	*depth = config ? *(const struct hes_fair_depth *)config : (struct hes_fair_depth){ 1, 1 };
	*self = &fake;
	return 0;
}

static void fake_close(void *self)
{
	assert_ptr_equal(self, &fake);
	assert_int_equal(fake.streams, 0);
}

static uint64_t fake_now_ns(void *self)
{
	(void)self;
	return fake.now_ns;
}

static int fake_stream_open(void *self, void **stream, struct hes_err *err)
{
	(void)self;
	(void)err;
	fake.streams++;
	*stream = &fake.streams;
	return 0;
}

static void fake_stream_close(void *self, void *stream)
{
	(void)self;
	assert_ptr_equal(stream, &fake.streams);
	fake.streams--;
}

static int fake_begin(void *self, struct hes_err *err)
{
	(void)self;
	assert_int_equal(fake.n, 0);
	fake.began_ns = fake.now_ns;
	return fake.refuses ? hes_fail(err, fake.refuses, "the context is gone") : 0;
}

static int fake_start(void *self, void *stream, const struct hes_fair_work *w, void *item,
		      struct hes_err *err)
{
	const struct piece *p = w->arg;

	(void)self;
	(void)err;
	assert_ptr_equal(stream, &fake.streams);
	fake.idle_ns = (fake.idle_ns > fake.now_ns ? fake.idle_ns : fake.now_ns) + p->ns;
	fake.items[(fake.first + fake.n++) % HES_FAIR_MAX_DEPTH] =
		(struct fake_item){ item, fake.idle_ns, w->run(w->arg, stream) };
	fake.greatest = fake.n > fake.greatest ? fake.n : fake.greatest;
	return 0;
}

static unsigned fake_collect(void *self, struct hes_fair_ended *out, unsigned max)
{
	const struct fake_item *i = &fake.items[fake.first];

	(void)self;
	(void)max;
	assert_true(fake.n > 0);
	fake.now_ns = i->end_ns;
	out->item = i->item;
	out->rc = i->rc;
	out->err.msg[0] = '\0';
	fake.first = (fake.first + 1) % HES_FAIR_MAX_DEPTH;
	fake.n--;
	return 1;
}

static uint64_t fake_end(void *self)
{
	(void)self;
	assert_int_equal(fake.n, 0);
	return fake.now_ns - fake.began_ns;
}

static const struct hes_fair_executor fake_executor = {
	.name = "fake",
	.runs_functions = true,
	.keeps_order = true,
	.open = fake_open,
	.close = fake_close,
	.now_ns = fake_now_ns,
	.stream_open = fake_stream_open,
	.stream_close = fake_stream_close,
	.begin = fake_begin,
	.start = fake_start,
	.collect = fake_collect,
	.end = fake_end,
};

static struct hes_fair_scheduler_config config_of(int policy, double phi, uint64_t interval)
{
	return (struct hes_fair_scheduler_config){
		.queue = { &hes_fair_policies[policy], phi, interval, QUANTUM },
		.executor = &fake_executor,
		.manual = true,
	};
}

static struct hes_fair_scheduler *create(const struct hes_fair_scheduler_config *c)
{
	struct hes_fair_scheduler *s = NULL;

	assert_int_equal(hes_fair_scheduler_create(c, &s, NULL), 0);
	return s;
}

static uint32_t add(struct hes_fair_scheduler *s, double power_w, double weight, uint32_t clock_mhz)
{
	const struct hes_fair_member m = { "tenant", weight, power_w, clock_mhz };
	uint32_t tenant = UINT32_MAX;

	assert_int_equal(hes_fair_scheduler_add(s, &m, &tenant, NULL), 0);
	return tenant;
}

static struct hes_fair_stream *stream_of(struct hes_fair_scheduler *s, uint32_t tenant)
{
	struct hes_fair_stream *st = NULL;

	assert_int_equal(hes_fair_stream_create(s, tenant, &st, NULL), 0);
	return st;
}

static struct hes_fair_statistics statistics(struct hes_fair_scheduler *s, uint32_t tenant)
{
	struct hes_fair_statistics out;

	assert_int_equal(hes_fair_scheduler_statistics(s, tenant, &out, NULL), 0);
	return out;
}

TEST(items_are_fifo_in_a_stream_and_streams_take_turns)
{
	const struct hes_fair_scheduler_config c = config_of(TIME, 0, 1000);
	struct hes_fair_scheduler *s = create(&c);
	uint32_t a = add(s, 100, 1, 0);
	struct hes_fair_stream *one = stream_of(s, a), *two = stream_of(s, a),
			       *three = stream_of(s, a);
	struct piece p[9];

	for (int i = 0; i < 9; i++)
		p[i] = (struct piece){ .ns = 10, .letter = "abcdefghi"[i] };
	for (int i = 0; i < 4; i++)
		submit(one, &p[i]);
	for (int i = 4; i < 6; i++)
		submit(two, &p[i]);
	for (int i = 6; i < 9; i++)
		submit(three, &p[i]);
	assert_int_equal(hes_fair_scheduler_turn(s, NULL), 1);
	assert_string_equal(log_text, "aegbfhcid");
	assert_int_equal(hes_fair_scheduler_turn(s, NULL), 0);
	hes_fair_scheduler_destroy(s);
}

TEST(a_turn_ends_with_the_slice_or_the_work)
{
	const struct hes_fair_scheduler_config c = config_of(TIME, 0, 20);
	struct hes_fair_scheduler *s = create(&c);
	uint32_t a = add(s, 100, 1, 0), b = add(s, 100, 1, 0);
	struct hes_fair_stream *of_a = stream_of(s, a), *of_b = stream_of(s, b);
	struct piece p = { .ns = 3000, .letter = 'a' }, q = { .ns = 1000, .letter = 'b' };

	for (int i = 0; i < 8; i++)
		submit(of_a, &p);
	submit(of_b, &q);
	submit(of_b, &q);
	while (hes_fair_scheduler_turn(s, NULL) > 0)
		;
	assert_string_equal(log_text, "aaaabbaaaa"); /* 4 items of 3 us begin within 10 us */
	assert_int_equal(statistics(s, a).time_ns, 24000);
	assert_int_equal(statistics(s, b).time_ns, 2000);
	assert_int_equal(statistics(s, b).turns, 1);
	hes_fair_scheduler_destroy(s);
}

/* The tenant with the least vruntime runs items until its slice is over. */
struct plain {
	size_t n;
	double vruntime[MANY];
	uint64_t slices[MANY], item_ns[MANY], time_ns[MANY];
};

static uint64_t plain_turn(struct plain *p)
{
	uint64_t took = 0;
	size_t k = 0;

	for (size_t i = 1; i < p->n; i++)
		if (p->vruntime[i] < p->vruntime[k])
			k = i;
	while (took < p->slices[k] * QUANTUM)
		took += p->item_ns[k];
	p->time_ns[k] += took;
	p->vruntime[k] += (double)took / (double)(p->slices[k] * QUANTUM);
	return took;
}

/* Of backlogged tenants, each item as long as those of its tenant. */
static void check_case(struct hes_rng *rng)
{
	const uint64_t interval = 20 + hes_rng_below(rng, 200);
	const struct hes_fair_scheduler_config c = config_of(
		(int)hes_rng_below(rng, 3), (double)hes_rng_below(rng, 11) / 10, interval);
	struct hes_fair_scheduler *s = create(&c);
	struct plain p = { .n = 1 + hes_rng_below(rng, MANY) };
	struct hes_fair_tenant t[MANY];
	struct piece pieces[MANY];
	uint64_t total = 0;

	for (size_t i = 0; i < p.n; i++) {
		t[i] = (struct hes_fair_tenant){ 1 + 300 * hes_rng_unit(rng),
						 (double)(1 + hes_rng_below(rng, 3)),
						 HES_FAIR_BACKLOGGED };
		p.item_ns[i] = 1 + hes_rng_below(rng, 3 * interval * QUANTUM / p.n);
		pieces[i] = (struct piece){ .ns = p.item_ns[i], .budget = UINT64_MAX };
		pieces[i].again = stream_of(s, add(s, t[i].power_w, t[i].weight, 0));
		submit(pieces[i].again, &pieces[i]);
		if (hes_rng_below(rng, 2))
			submit(stream_of(s, (uint32_t)i), &pieces[i]);
	}
	assert_int_equal(hes_fair_slices(&(struct hes_fair_request){ c.queue.policy, interval,
								     c.queue.phi, t, p.n },
					 p.slices, NULL),
			 0);
	for (size_t i = 0; i < p.n; i++)
		p.slices[i] = p.slices[i] ? p.slices[i] : 1;
	for (int k = 0; k < 60; k++) {
		assert_int_equal(hes_fair_scheduler_turn(s, NULL), 1);
		total += plain_turn(&p);
	}
	assert_int_equal(fake.now_ns - 1000000, total);
	for (size_t i = 0; i < p.n; i++) {
		struct hes_fair_statistics st = statistics(s, (uint32_t)i);

		assert_int_equal(st.time_ns, p.time_ns[i]);
		assert_true(fabs(st.energy_j - t[i].power_w * (double)st.time_ns * 1e-9) <=
			    1e-9 * st.energy_j);
		for (size_t k = 0; k < p.n; k++) /* at most a turn apart */
			assert_true(p.vruntime[i] - p.vruntime[k] <=
				    1 + (double)p.item_ns[i] / (double)(p.slices[i] * QUANTUM) +
					    1e-9);
	}
	hes_fair_scheduler_destroy(s);
}

TEST(shares_equal_those_of_a_plain_model)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 7);
	for (int k = 0; k < 5000; k++)
		check_case(&rng);
}

TEST(work_queued_ahead_is_bounded_by_the_window)
{
	const struct hes_fair_depth deep = { 1, 64 };
	struct hes_fair_scheduler_config c = config_of(TIME, 0, 2000);
	struct hes_fair_scheduler *s;
	struct piece p = { .ns = 10000, .budget = UINT64_MAX };

	c.executor_config = &deep;
	c.window_ns = 100000;
	s = create(&c);
	p.again = stream_of(s, add(s, 100, 1, 0));
	for (int i = 0; i < 100; i++)
		submit(p.again, &p);
	assert_int_equal(hes_fair_scheduler_turn(s, NULL), 1);
	assert_int_equal(fake.greatest, 1); /* how long an item takes is not known yet */
	assert_int_equal(hes_fair_scheduler_turn(s, NULL), 1);
	assert_int_equal(fake.greatest, 10);
	assert_int_equal(statistics(s, 0).time_ns,
			 2 * 2000 * QUANTUM); /* nothing is queued beyond the slice */
	hes_fair_scheduler_destroy(s);
}

TEST(a_failed_item_is_reported_once_and_stops_nothing)
{
	const struct hes_fair_scheduler_config c = config_of(TIME, 0, 100);
	struct hes_fair_scheduler *s = create(&c);
	uint32_t a = add(s, 100, 1, 0);
	struct hes_fair_stream *one = stream_of(s, a), *two = stream_of(s, a);
	struct piece good = { .ns = 10 }, bad = { .ns = 10, .rc = -EDOM },
		     worse = { .ns = 10, .rc = -ERANGE };
	struct hes_err err = { 0 };

	submit(two, &good);
	submit(one, &bad);
	submit(one, &worse);
	submit(one, &good);
	submit(two, &worse);
	assert_int_equal(hes_fair_stream_sync(one, &err), -EDOM);
	assert_string_equal(err.msg, "an item of tenant tenant failed with error 33");
	assert_int_equal(hes_fair_stream_sync(one, NULL), 0);
	assert_int_equal(hes_fair_scheduler_sync(s, NULL), -ERANGE);
	assert_int_equal(hes_fair_tenant_sync(s, a, NULL), 0);
	assert_int_equal(good.ended, 2);
	assert_int_equal(bad.last_rc, -EDOM);
	assert_int_equal(statistics(s, a).items, 5);
	assert_int_equal(statistics(s, a).failed, 3);
	fake.refuses = -EIO; /* as after a fault of the GPU: all fails, and ends */
	submit(one, &good);
	submit(two, &good);
	assert_int_equal(hes_fair_tenant_sync(s, a, &err), -EIO);
	assert_string_equal(err.msg, "tenant tenant: the context is gone");
	assert_int_equal(good.ended, 4);
	hes_fair_scheduler_destroy(s);
}

TEST(a_sync_waits_for_what_was_submitted_before)
{
	const struct hes_fair_scheduler_config c = config_of(TIME, 0, 100);
	struct hes_fair_scheduler *s = create(&c);
	struct piece p = { .ns = 10 * QUANTUM, .budget = 1000000 };

	p.again = stream_of(s, add(s, 100, 1, 0));
	submit(p.again, &p);
	assert_int_equal(hes_fair_stream_sync(p.again, NULL), 0);
	assert_int_equal(hes_fair_scheduler_sync(s, NULL), 0);
	assert_true(p.ended >= 2 && p.ended <= 30); /* whole turns of 10 items */
	hes_fair_scheduler_destroy(s);
	assert_int_equal(p.last_rc, -ECANCELED);
}

TEST(a_destroyed_stream_still_runs_its_items)
{
	const struct hes_fair_scheduler_config c = config_of(TIME, 0, 100);
	struct hes_fair_scheduler *s = create(&c);
	uint32_t a = add(s, 100, 1, 0);
	struct hes_fair_stream *st = stream_of(s, a);
	struct piece p = { .ns = 10, .letter = 'p' };

	submit(st, &p);
	submit(st, &p);
	hes_fair_stream_destroy(st);
	hes_fair_stream_destroy(stream_of(s, a));
	hes_fair_stream_destroy(NULL);
	assert_int_equal(hes_fair_tenant_sync(s, a, NULL), 0);
	assert_string_equal(log_text, "pp");
	assert_int_equal(hes_fair_scheduler_turn(s, NULL), 0);
	assert_int_equal(fake.streams, 0);
	hes_fair_scheduler_destroy(s);
}

TEST(a_removed_tenant_gives_up_its_items)
{
	const struct hes_fair_scheduler_config c = config_of(TIME, 0, 100);
	struct hes_fair_scheduler *s = create(&c);
	uint32_t a = add(s, 100, 1, 0), b = add(s, 100, 1, 0);
	struct hes_fair_stream *of_a = stream_of(s, a), *of_b = stream_of(s, b);
	struct piece p = { .ns = 100 * QUANTUM, .letter = 'p' }, q = { .ns = 10, .letter = 'q' };

	for (int i = 0; i < 3; i++)
		submit(of_a, &p);
	submit(of_b, &q);
	assert_int_equal(hes_fair_scheduler_turn(s, NULL), 1);
	assert_int_equal(hes_fair_scheduler_remove(s, a, NULL), 0);
	assert_int_equal(p.ended, 3);
	assert_int_equal(p.last_rc, -ECANCELED);
	assert_int_equal(hes_fair_scheduler_remove(s, a, NULL), -ENOENT);
	assert_int_equal(hes_fair_scheduler_sync(s, NULL), 0);
	assert_string_equal(log_text, "pq");
	assert_int_equal(add(s, 100, 1, 0), a);
	assert_int_equal(statistics(s, a).items, 0);
	hes_fair_scheduler_destroy(s);
	assert_int_equal(q.last_rc, 0);
}

/* Clocks set, in order, and a meter that shows 7 J more each time. */
struct fake_gpu {
	uint32_t mhz[16];
	int n, rc;
	double joules, step;
};

static int fake_set_clock(void *ctx, uint32_t mhz)
{
	struct fake_gpu *k = ctx;

	assert_true(k->n < 16);
	k->mhz[k->n++] = mhz;
	return k->rc;
}

static double fake_meter(void *ctx)
{
	struct fake_gpu *k = ctx;

	return k->joules += k->step;
}

TEST(clocks_are_set_at_switches_where_they_differ)
{
	struct fake_gpu k = { .step = 7 };
	struct hes_fair_scheduler_config c = config_of(TIME, 0, 30);
	struct hes_fair_scheduler *s;
	struct hes_fair_totals totals;
	const uint32_t clocks[] = { 0, 900, 900 };
	struct piece p[3];

	c.set_clock = fake_set_clock;
	c.ctx = &k;
	s = create(&c);
	for (int i = 0; i < 3; i++) {
		p[i] = (struct piece){ .ns = 10 * QUANTUM, .budget = 1000 };
		p[i].again = stream_of(s, add(s, 100, 1, clocks[i]));
		submit(p[i].again, &p[i]);
	}
	for (int i = 0; i < 6; i++)
		hes_fair_scheduler_turn(s, NULL);
	assert_int_equal(k.n, 3);
	k.rc = -EPERM;
	for (int i = 0; i < 3; i++)
		hes_fair_scheduler_turn(s, NULL);
	hes_fair_scheduler_totals(s, &totals);
	assert_int_equal(totals.turns, 9);
	assert_int_equal(totals.switches, 8);
	assert_int_equal(totals.clock_changes, 3);
	assert_int_equal(totals.clock_failures,
			 1); /* 900 MHz stay: the other turns need no change */
	hes_fair_scheduler_destroy(s);
	assert_int_equal(k.mhz[0], 900);
	assert_int_equal(k.mhz[1], 0);
	assert_int_equal(k.mhz[2], 900);
	assert_int_equal(k.mhz[4], 0); /* as found */
	assert_int_equal(k.n, 5);
}

TEST(energy_comes_from_the_meter_where_it_reads)
{
	struct fake_gpu k = { .step = 7 };
	struct hes_fair_scheduler_config c = config_of(TIME, 0, 30);
	struct hes_fair_scheduler *s;
	struct hes_fair_stream *st;
	struct piece p = { .ns = 1000000 };
	uint32_t a;

	c.meter_j = fake_meter;
	c.ctx = &k;
	s = create(&c);
	a = add(s, 200, 1, 0);
	st = stream_of(s, a);
	submit(st, &p);
	hes_fair_scheduler_turn(s, NULL);
	assert_true(statistics(s, a).energy_j == 7);
	k.step = -7; /* as a counter that starts again */
	submit(st, &p);
	hes_fair_scheduler_turn(s, NULL);
	assert_true(fabs(statistics(s, a).energy_j - 7 - 0.2) < 1e-12);
	k.step = NAN;
	submit(st, &p);
	hes_fair_scheduler_turn(s, NULL);
	assert_true(fabs(statistics(s, a).energy_j - 7 - 0.4) < 1e-12);
	hes_fair_scheduler_destroy(s);
}

TEST(a_change_of_weight_or_phi_counts_from_the_next_turn)
{
	const struct hes_fair_scheduler_config c = config_of(ETF, 0, 30);
	const struct hes_fair_member more = { "ignored", 1, 1, 0 };
	struct hes_fair_scheduler *s = create(&c);
	struct piece p[2];

	for (uint32_t i = 0; i < 2; i++) {
		p[i] = (struct piece){ .ns = QUANTUM, .budget = 100000 };
		p[i].again = stream_of(s, add(s, i ? 2 : 1, 1, 0));
		submit(p[i].again, &p[i]);
	}
	hes_fair_scheduler_turn(s, NULL);
	assert_int_equal(statistics(s, 0).slice_ns, 20 * QUANTUM);
	assert_int_equal(hes_fair_scheduler_set_phi(s, 1, NULL), 0);
	hes_fair_scheduler_turn(s, NULL);
	assert_int_equal(statistics(s, 1).slice_ns, 15 * QUANTUM);
	assert_int_equal(hes_fair_scheduler_set_phi(s, 0, NULL), 0);
	assert_int_equal(hes_fair_scheduler_change(s, 1, &more, NULL), 0);
	hes_fair_scheduler_turn(s, NULL);
	assert_int_equal(statistics(s, 1).slice_ns, 15 * QUANTUM);
	assert_string_equal(statistics(s, 1).name, "tenant");
	assert_int_equal(hes_fair_scheduler_set_phi(s, 2, NULL), -EINVAL);
	hes_fair_scheduler_destroy(s);
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

TEST(latencies_are_within_4_percent)
{
	const double parts[] = { 0, 0.01, 0.5, 0.9, 0.99, 1 };
	static uint64_t all[1000];
	struct hes_rng rng;

	hes_rng_seed(&rng, 3);
	for (int round = 0; round < 200; round++) {
		struct latency *l = calloc(1, sizeof(*l));
		size_t n = 1 + hes_rng_below(&rng, 1000);

		assert_true(isnan(latency_mean(l)) && isnan(latency_percentile(l, 0.5)));
		for (size_t i = 0; i < n; i++) {
			all[i] = (uint64_t)exp(43 * hes_rng_unit(&rng)) - 1;
			latency_add(l, all[i]);
		}
		qsort(all, n, sizeof(all[0]), ascending);
		for (size_t k = 0; k < 6; k++) {
			double exact = (double)all[(size_t)fmax(ceil(parts[k] * (double)n), 1) - 1];

			assert_true(fabs(latency_percentile(l, parts[k]) - exact) <= 0.04 * exact);
		}
		free(l);
	}
	{
		struct latency *l = calloc(1, sizeof(*l));

		latency_add(l, UINT64_MAX);
		latency_add(l, 0);
		assert_true(latency_percentile(l, 0.5) == 0 && latency_percentile(l, 1) > 1.7e19);
		free(l);
	}
}

TEST(statistics_have_the_latency_of_items)
{
	const struct hes_fair_scheduler_config c = config_of(TIME, 0, 30);
	struct hes_fair_scheduler *s = create(&c);
	uint32_t a = add(s, 200, 1, 0);
	struct hes_fair_stream *st = stream_of(s, a);
	struct piece p = { .ns = 16 };
	struct hes_fair_statistics u = statistics(s, a);

	assert_true(isnan(u.latency_mean_ns) && isnan(u.latency_p99_ns) && isnan(u.latency_max_ns));
	submit(st, &p);
	submit(st, &p);
	hes_fair_scheduler_sync(s, NULL);
	u = statistics(s, a);
	assert_true(u.latency_mean_ns == 24 && u.latency_p50_ns == 16 && u.latency_p99_ns == 32 &&
		    u.latency_max_ns == 32);
	hes_fair_scheduler_destroy(s);
}

static void check_refused(const struct hes_fair_scheduler_config *c, const char *says)
{
	struct hes_fair_scheduler *s = NULL;
	struct hes_err err = { 0 };

	assert_int_equal(hes_fair_scheduler_create(c, &s, &err), -EINVAL);
	assert_null(s);
	assert_non_null(strstr(err.msg, says));
}

TEST(bad_schedulers_are_refused)
{
	const struct hes_fair_depth none = { 0, 1 }, huge = { 1, HES_FAIR_MAX_DEPTH + 1 };
	const struct hes_fair_cpu crowd = { .workers = HES_FAIR_MAX_DEPTH + 1 };
	const struct hes_fair_cuda deep = { .depth = HES_FAIR_MAX_DEPTH + 1 };
	struct hes_fair_executor lame = fake_executor;
	struct hes_fair_scheduler_config c = config_of(ETF, 0.7, 30);

	lame.collect = NULL;
	c.executor = &lame;
	check_refused(&c, "lacks a function");
	c.executor = NULL;
	check_refused(&c, "no executor");
	c = config_of(ETF, 2, 30);
	check_refused(&c, "phi 2");
	c = config_of(ETF, 0.7, 30);
	c.executor_config = &none;
	check_refused(&c, "takes 0 to 1 items");
	c.executor_config = &huge;
	check_refused(&c, "items, not");
	c.executor = &hes_fair_cpu_executor;
	c.executor_config = &crowd;
	check_refused(&c, "257 workers");
	c.executor = &hes_fair_cuda_executor;
	c.executor_config = &deep;
	check_refused(&c, "a depth of 257");
	hes_fair_scheduler_destroy(NULL);
}

TEST(bad_tenants_and_work_are_refused)
{
	const struct hes_fair_scheduler_config c = config_of(ETF, 0.7, 30);
	const struct hes_fair_kernel k = { 0 };
	const struct hes_fair_work bad[] = { { 0 },
					     { .run = piece_run, .kernel = &k },
					     { .kernel = &k } };
	struct hes_fair_scheduler *s = create(&c);
	char name[HES_FAIR_MAX_MEMBER_NAME + 1];
	struct hes_fair_stream *st = NULL;
	struct hes_fair_statistics u;
	uint32_t a, none = 5;

	memset(name, 'n', sizeof(name));
	name[HES_FAIR_MAX_MEMBER_NAME] = '\0';
	assert_int_equal(
		hes_fair_scheduler_add(s, &(struct hes_fair_member){ name, 1, 1, 0 }, &none, NULL),
		-EINVAL);
	assert_int_equal(
		hes_fair_scheduler_add(s, &(struct hes_fair_member){ "", 1, 1, 0 }, &none, NULL),
		-EINVAL);
	assert_int_equal(
		hes_fair_scheduler_add(s, &(struct hes_fair_member){ NULL, 1, 1, 0 }, &none, NULL),
		-EINVAL);
	assert_int_equal(
		hes_fair_scheduler_add(s, &(struct hes_fair_member){ "a", 0, 1, 0 }, &none, NULL),
		-EINVAL);
	assert_int_equal(
		hes_fair_scheduler_add(s, &(struct hes_fair_member){ "a", 1, NAN, 0 }, &none, NULL),
		-EINVAL);
	assert_int_equal(none, 5);
	assert_int_equal(hes_fair_stream_create(s, 0, &st, NULL), -ENOENT);
	assert_int_equal(hes_fair_tenant_sync(s, 0, NULL), -ENOENT);
	assert_int_equal(hes_fair_scheduler_statistics(s, 0, &u, NULL), -ENOENT);
	assert_int_equal(hes_fair_scheduler_remove(s, UINT32_MAX, NULL), -ENOENT);
	assert_int_equal(
		hes_fair_scheduler_change(s, 0, &(struct hes_fair_member){ "a", 1, 1, 0 }, NULL),
		-ENOENT);
	a = add(s, 100, 1, 0);
	assert_int_equal(
		hes_fair_scheduler_change(s, a, &(struct hes_fair_member){ "a", -1, 1, 0 }, NULL),
		-EINVAL);
	st = stream_of(s, a);
	for (int i = 0; i < 3; i++)
		assert_int_equal(hes_fair_stream_submit(st, &bad[i], NULL), -EINVAL);
	assert_int_equal(statistics(s, a).waiting, 0);
	assert_int_equal(hes_fair_scheduler_sync(s, NULL), 0);
	hes_fair_scheduler_destroy(s);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
