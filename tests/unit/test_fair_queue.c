/*
 * test_fair_queue.c - turns on a shared GPU: measured shares against slices, arrivals and
 * departures, debts, streams, random events against a plain queue that scans all tenants, bad
 * numbers.
 */
#include <math.h>

#include "base/rng.h"
#include "heshare/fair_queue.h"
#include "unit_test.h"

#define MANY    100
#define QUANTUM 1000 /* ns */

enum { TIME, ENERGY, ETF };

static struct hes_fair_queue *queue_of(int policy, double phi, uint64_t interval)
{
	const struct hes_fair_queue_config c = { &hes_fair_policies[policy], phi, interval,
						 QUANTUM };
	struct hes_fair_queue *q = NULL;

	assert_int_equal(hes_fair_queue_create(&c, &q, NULL), 0);
	return q;
}

static uint32_t add(struct hes_fair_queue *q, double power_w, double weight)
{
	const struct hes_fair_tenant t = { power_w, weight, HES_FAIR_BACKLOGGED };
	uint32_t tenant = UINT32_MAX;

	assert_int_equal(hes_fair_queue_add(q, 0, &t, &tenant, NULL), 0);
	return tenant;
}

static void submit(struct hes_fair_queue *q, uint32_t tenant, uint64_t items)
{
	assert_int_equal(hes_fair_queue_submit(q, tenant, items, NULL), 0);
}

static void done(struct hes_fair_queue *q, uint32_t tenant, uint64_t items)
{
	assert_int_equal(hes_fair_queue_done(q, tenant, items, NULL), 0);
}

static void charge(struct hes_fair_queue *q, uint32_t tenant, uint64_t time_ns)
{
	assert_int_equal(hes_fair_queue_charge(q, tenant, time_ns, 0, NULL), 0);
}

static struct hes_fair_turn pick(struct hes_fair_queue *q)
{
	struct hes_fair_turn t;

	assert_true(hes_fair_queue_pick(q, &t));
	return t;
}

/* A turn that uses all of its slice. @return the tenant */
static uint32_t full_turn(struct hes_fair_queue *q)
{
	struct hes_fair_turn t = pick(q);

	charge(q, t.tenant, t.slice_ns);
	return t.tenant;
}

static struct hes_fair_usage usage(const struct hes_fair_queue *q, uint32_t tenant)
{
	struct hes_fair_usage u;

	assert_int_equal(hes_fair_queue_usage(q, tenant, &u, NULL), 0);
	return u;
}

/* Each tenant's time in an interval is its slice, within a quantum, where turns last @least to
 * @most of a slice. */
static void check_shares(size_t n, double least, double most)
{
	enum { INTERVAL = 1000, INTERVALS = 4000 };
	struct hes_fair_queue *q = queue_of(ETF, 0.7, INTERVAL);
	struct hes_fair_tenant t[MANY];
	const struct hes_fair_request r = { &hes_fair_policies[ETF], INTERVAL, 0.7, t, n };
	uint64_t slices[MANY], total = 0;
	struct hes_rng rng;

	hes_rng_seed(&rng, n);
	for (size_t i = 0; i < n; i++) {
		t[i] = (struct hes_fair_tenant){ 50 + 250 * hes_rng_unit(&rng),
						 (double)(1 + hes_rng_below(&rng, 3)),
						 HES_FAIR_BACKLOGGED };
		submit(q, add(q, t[i].power_w, t[i].weight), 1);
	}
	assert_int_equal(hes_fair_slices(&r, slices, NULL), 0);
	while (total < (uint64_t)INTERVALS * INTERVAL * QUANTUM) {
		struct hes_fair_turn turn = pick(q);
		uint64_t took = (uint64_t)((least + (most - least) * hes_rng_unit(&rng)) *
					   (double)turn.slice_ns);

		assert_int_equal(turn.slice, slices[turn.tenant]);
		charge(q, turn.tenant, took);
		total += took;
	}
	for (size_t i = 0; i < n; i++) {
		double quanta = (double)usage(q, (uint32_t)i).time_ns / (double)total * INTERVAL;

		assert_true(fabs(quanta - (double)slices[i]) <= 1);
	}
	hes_fair_queue_destroy(q);
}

TEST(measured_shares_converge_to_the_slices)
{
	const size_t n[] = { 2, 3, 8, 100 };

	for (size_t k = 0; k < 4; k++) {
		check_shares(n[k], 1, 1);
		check_shares(n[k], 0.1, 1);
	}
}

TEST(overlong_turns_are_paid_back)
{
	const size_t n[] = { 2, 3, 8, 100 };
	struct hes_fair_queue *q = queue_of(TIME, 0, 20);

	for (size_t k = 0; k < 4; k++)
		check_shares(n[k], 0.5, 5);
	for (uint32_t i = 0; i < 2; i++)
		submit(q, add(q, 100, 1), 1);
	charge(q, pick(q).tenant, 10 * pick(q).slice_ns); /* tenant 0 */
	for (int k = 0; k < 10; k++)
		assert_int_equal(full_turn(q), 1);
	assert_int_equal(full_turn(q), 0);
	hes_fair_queue_destroy(q);
}

TEST(weights_of_2_to_1_get_time_of_2_to_1)
{
	struct hes_fair_queue *q = queue_of(TIME, 0, 30);

	for (uint32_t i = 0; i < 2; i++)
		submit(q, add(q, i ? 300 : 100, i ? 1 : 2), 1);
	for (int k = 0; k < 2000; k++)
		full_turn(q);
	assert_int_equal(usage(q, 0).time_ns, 2 * usage(q, 1).time_ns);
	hes_fair_queue_destroy(q);
}

/* Section 4.3 of the paper: one interval is divided into 14, 9 and 7 quanta. */
TEST(turns_of_the_papers_example_last_14_9_7_quanta)
{
	const double power_w[] = { 2, 3, 8 };
	const uint64_t slices[] = { 14, 9, 7 };
	struct hes_fair_queue *q = queue_of(ETF, 0.7, 30);

	for (uint32_t i = 0; i < 3; i++)
		submit(q, add(q, power_w[i], 1), 1);
	for (uint32_t k = 0; k < 9; k++) {
		struct hes_fair_turn t = pick(q);

		assert_int_equal(t.tenant, k % 3);
		assert_int_equal(t.slice, slices[t.tenant]);
		assert_int_equal(t.slice_ns, slices[t.tenant] * QUANTUM);
		assert_int_equal(hes_fair_queue_charge(q, t.tenant, t.slice_ns,
						       (double)t.slice * power_w[t.tenant], NULL),
				 0);
	}
	assert_int_equal(usage(q, 0).time_ns, 3 * 14 * QUANTUM);
	assert_true(usage(q, 2).energy_j == 3 * 56);
	hes_fair_queue_destroy(q);
}

TEST(a_returning_tenant_gets_no_burst_and_is_not_starved)
{
	struct hes_fair_queue *q = queue_of(TIME, 0, 30);
	uint32_t turns[3] = { 0 };

	for (uint32_t i = 0; i < 3; i++)
		submit(q, add(q, 100, 1), 1);
	done(q, 0, 1);
	for (int k = 0; k < 1001; k++)
		full_turn(q);
	submit(q, 0, 1);
	for (uint32_t k = 1; k <= 30; k++) {
		turns[full_turn(q)]++;
		for (uint32_t i = 0; i < 3; i++) /* at most a turn off, always */
			assert_true(turns[i] <= k / 3 + 1 && turns[i] + 1 >= k / 3);
	}
	hes_fair_queue_destroy(q);
}

TEST(a_tenant_gains_nothing_by_ending_turns_early)
{
	struct hes_fair_queue *q = queue_of(TIME, 0, 30);

	for (uint32_t i = 0; i < 3; i++)
		submit(q, add(q, 100, 1), 1);
	for (int k = 0; k < 3000; k++) {
		struct hes_fair_turn t = pick(q);

		charge(q, t.tenant, t.slice_ns);
		if (t.tenant == 0) {
			done(q, 0, 1);
			full_turn(q);
			submit(q, 0, 1);
		}
	}
	assert_true(usage(q, 0).time_ns <= usage(q, 1).time_ns + usage(q, 1).slice * QUANTUM);
	assert_true(usage(q, 0).time_ns <= usage(q, 2).time_ns + usage(q, 2).slice * QUANTUM);
	hes_fair_queue_destroy(q);
}

/* The order of the last charge and the last item must not matter. */
TEST(time_alone_on_the_gpu_is_not_a_debt)
{
	for (int charged_last = 0; charged_last < 2; charged_last++) {
		struct hes_fair_queue *q = queue_of(TIME, 0, 30);
		uint32_t a = add(q, 100, 1), b = add(q, 100, 1);
		struct hes_fair_turn none;

		submit(q, a, 1);
		for (int k = 0; k < 100; k++)
			full_turn(q);
		if (!charged_last)
			charge(q, a, 100 * 30 * QUANTUM);
		done(q, a, 1);
		if (charged_last)
			charge(q, a, 100 * 30 * QUANTUM);
		assert_false(hes_fair_queue_pick(q, &none));
		submit(q, b, 1);
		full_turn(q);
		submit(q, a, 1);
		assert_true(full_turn(q) == a || full_turn(q) == a);
		hes_fair_queue_destroy(q);
	}
}

/* A debt is kept while a tenant has no work and others do. */
TEST(a_debtor_cannot_escape_by_a_pause)
{
	struct hes_fair_queue *q = queue_of(TIME, 0, 20);

	for (uint32_t i = 0; i < 2; i++)
		submit(q, add(q, 100, 1), 1);
	charge(q, pick(q).tenant, 10 * pick(q).slice_ns);
	done(q, 0, 1);
	pick(q); /* slices of tenant 1 alone: 20 quanta */
	submit(q, 0, 1);
	for (int k = 0; k < 10; k++)
		assert_int_equal(full_turn(q), 1);
	assert_int_equal(full_turn(q), 0);
	hes_fair_queue_destroy(q);
}

/* In the second n turns each tenant has one, of the slice that Algorithm 1 gives for those who have
 * work now. */
static void check_settled(struct hes_fair_queue *q, const struct hes_fair_tenant *t,
			  const uint32_t *who, size_t n)
{
	const struct hes_fair_request r = { &hes_fair_policies[ETF], 60, 0.5, t, n };
	uint64_t slices[8];
	int turns[8] = { 0 };

	assert_int_equal(hes_fair_slices(&r, slices, NULL), 0);
	for (size_t k = 0; k < n; k++)
		full_turn(q);
	for (size_t k = 0; k < n; k++) {
		struct hes_fair_turn turn = pick(q);

		for (size_t i = 0; i < n; i++)
			if (who[i] == turn.tenant) {
				assert_int_equal(turn.slice, slices[i]);
				turns[i]++;
			}
		charge(q, turn.tenant, turn.slice_ns);
	}
	for (size_t i = 0; i < n; i++)
		assert_int_equal(turns[i], 1);
}

TEST(arrivals_and_departures_settle_within_two_intervals)
{
	struct hes_fair_queue *q = queue_of(ETF, 0.5, 60);
	struct hes_fair_tenant t[] = { { 2, 1, HES_FAIR_BACKLOGGED },
				       { 3, 2, HES_FAIR_BACKLOGGED },
				       { 8, 1, HES_FAIR_BACKLOGGED } };
	uint32_t who[3];

	for (uint32_t i = 0; i < 3; i++)
		who[i] = add(q, t[i].power_w, t[i].weight);
	submit(q, 0, 1);
	submit(q, 1, 1);
	for (int offset = 0; offset < 5; offset++) {
		check_settled(q, t, who, 2);
		for (int k = 0; k < offset; k++)
			full_turn(q);
		submit(q, 2, 1);
		check_settled(q, t, who, 3);
		for (int k = 0; k < offset; k++)
			full_turn(q);
		done(q, 2, 1);
	}
	submit(q, 2, 1);
	t[1].weight = 5; /* changes of weight and power do, too */
	t[2].power_w = 1;
	assert_int_equal(hes_fair_queue_change(q, 1, &t[1], NULL), 0);
	assert_int_equal(hes_fair_queue_change(q, 2, &t[2], NULL), 0);
	check_settled(q, t, who, 3);
	assert_int_equal(hes_fair_queue_remove(q, 0, NULL), 0);
	check_settled(q, t + 1, who + 1, 2);
	hes_fair_queue_destroy(q);
}

TEST(a_change_of_phi_counts_at_the_next_pick)
{
	struct hes_fair_queue *q = queue_of(ETF, 0, 30);

	submit(q, add(q, 1, 1), 1);
	submit(q, add(q, 2, 1), 1);
	assert_int_equal(pick(q).slice, 20);
	assert_int_equal(hes_fair_queue_set_phi(q, 1, NULL), 0);
	assert_int_equal(pick(q).slice, 15);
	hes_fair_queue_destroy(q);
}

TEST(a_tenant_without_a_quantum_gets_one)
{
	struct hes_fair_queue *q = queue_of(ETF, 1, 4);
	uint32_t turns[10] = { 0 };

	for (uint32_t i = 0; i < 10; i++)
		submit(q, add(q, 100, 1), 1);
	for (int k = 0; k < 10; k++)
		turns[full_turn(q)]++;
	for (uint32_t i = 0; i < 10; i++) {
		assert_int_equal(turns[i], 1);
		assert_int_equal(usage(q, i).time_ns, QUANTUM);
	}
	hes_fair_queue_destroy(q);
}

TEST(a_removed_tenant_leaves_nothing)
{
	struct hes_fair_queue *q = queue_of(TIME, 0, 30);
	struct hes_fair_turn t;

	for (uint32_t i = 0; i < 3; i++)
		submit(q, add(q, 100, 1), 1);
	for (int k = 0; k < 30; k++)
		full_turn(q);
	assert_int_equal(hes_fair_queue_remove(q, 1, NULL), 0);
	assert_int_equal(hes_fair_queue_remove(q, 1, NULL), -ENOENT);
	for (int k = 0; k < 10; k++)
		assert_int_not_equal(full_turn(q), 1);
	assert_int_equal(add(q, 200, 1), 1);
	assert_int_equal(usage(q, 1).time_ns, 0);
	assert_int_equal(usage(q, 1).items, 0);
	submit(q, 1, 1);
	assert_true(usage(q, 1).vruntime >= usage(q, 0).vruntime - 1);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(hes_fair_queue_remove(q, i, NULL), 0);
	assert_false(hes_fair_queue_pick(q, &t));
	hes_fair_queue_destroy(q);
	hes_fair_queue_destroy(NULL);
}

/* A vruntime of 10^15 has a resolution of an eighth: a turn of less would not count, and its tenant
 * be picked for ever. */
static void check_short_turns(bool charged_idle)
{
	struct hes_fair_queue *q = queue_of(TIME, 0, 1000);
	uint32_t turns[2] = { 0 };

	submit(q, add(q, 100, 1), 1);
	add(q, 100, 1);
	pick(q);
	if (charged_idle)
		done(q, 0, 1);
	for (int k = 0; k < 100; k++)
		charge(q, 0, HES_FAIR_MAX_NS);
	if (charged_idle)
		submit(q, 0, 1);
	submit(q, 1, 1);
	assert_true(usage(q, 0).vruntime == 0 && usage(q, 1).vruntime == 0);
	for (int k = 0; k < 2000; k++) {
		uint32_t tenant = pick(q).tenant;

		charge(q, tenant, 1); /* ns, of a slice of 500,000 ns */
		turns[tenant]++;
	}
	assert_int_equal(turns[0], 1000);
	assert_int_equal(usage(q, 0).time_ns, 100 * HES_FAIR_MAX_NS + 1000);
	hes_fair_queue_destroy(q);
}

TEST(short_turns_count_after_a_huge_charge)
{
	check_short_turns(false);
	check_short_turns(true);
}

/* A plain queue: all tenants are scanned, and slices computed at each pick. */
struct plain {
	double phi, floor;
	uint64_t interval;
	struct plain_tenant {
		struct hes_fair_tenant t;
		bool here;
		uint64_t items, slice, time_ns;
		double vruntime;
	} a[MANY];
};

static size_t plain_first(const struct plain *p)
{
	size_t k = MANY;

	for (size_t i = 0; i < MANY; i++)
		if (p->a[i].items && (k == MANY || p->a[i].vruntime < p->a[k].vruntime))
			k = i;
	return k;
}

static double plain_minimum(const struct plain *p)
{
	size_t k = plain_first(p);

	return k == MANY ? p->floor : p->a[k].vruntime;
}

static void plain_items(struct plain *p, size_t i, uint64_t items)
{
	struct plain_tenant *a = &p->a[i];

	bool had = a->items > 0;

	if (!had && items)
		a->vruntime = fmax(a->vruntime, plain_minimum(p));
	a->items = items;
	if (had && plain_first(p) == MANY)
		p->floor = fmax(p->floor, a->vruntime);
}

static void plain_charge(struct plain *p, size_t i, uint64_t time_ns)
{
	struct plain_tenant *a = &p->a[i];

	a->time_ns += time_ns;
	a->vruntime += (double)time_ns / (double)(a->slice * QUANTUM);
	if (plain_first(p) == MANY)
		p->floor = fmax(p->floor, a->vruntime);
}

static size_t plain_pick(struct plain *p)
{
	struct hes_fair_tenant t[MANY];
	struct hes_fair_request r = { &hes_fair_policies[ETF], p->interval, p->phi, t, 0 };
	uint64_t slices[MANY];
	size_t k = 0;

	for (size_t i = 0; i < MANY; i++)
		if (p->a[i].items)
			t[r.n++] = p->a[i].t;
	if (!r.n)
		return MANY;
	assert_int_equal(hes_fair_slices(&r, slices, NULL), 0);
	for (size_t i = 0; i < MANY; i++)
		if (p->a[i].items) {
			p->a[i].slice = slices[k] ? slices[k] : 1;
			k++;
		}
	return plain_first(p);
}

static struct hes_fair_tenant draw_tenant(struct hes_rng *rng)
{
	return (struct hes_fair_tenant){ (double)(1 + hes_rng_below(rng, 5)),
					 (double)(1 + hes_rng_below(rng, 3)),
					 hes_rng_below(rng, 4) ? HES_FAIR_BACKLOGGED
							       : 1 + hes_rng_below(rng, 50) };
}

static void random_turn(struct hes_fair_queue *q, struct plain *p, struct hes_rng *rng)
{
	size_t first = plain_pick(p);
	struct hes_fair_turn t;
	uint64_t took;

	assert_int_equal(hes_fair_queue_pick(q, &t),
			 first < MANY); /* never idle while anyone has work */
	if (first == MANY)
		return;
	assert_int_equal(t.tenant, first);
	assert_int_equal(t.slice, p->a[first].slice);
	took = hes_rng_below(rng, 2) ? t.slice_ns : hes_rng_below(rng, 3 * t.slice_ns);
	if (hes_rng_below(rng, 8) == 0) { /* its work ends before it is charged */
		done(q, t.tenant, p->a[first].items);
		plain_items(p, first, 0);
	}
	charge(q, t.tenant, took);
	plain_charge(p, first, took);
}

static void random_change(struct hes_fair_queue *q, struct plain *p, struct hes_rng *rng,
			  size_t most)
{
	size_t i = hes_rng_below(rng, most);
	struct plain_tenant *a = &p->a[i];
	uint32_t tenant;

	switch (a->here ? hes_rng_below(rng, 12) : 0) {
	case 0:
		if (a->here) {
			assert_int_equal(hes_fair_queue_remove(q, (uint32_t)i, NULL), 0);
			plain_items(p, i, 0);
			a->here = false;
			return;
		}
		*a = (struct plain_tenant){ .here = true, .t = draw_tenant(rng) };
		assert_int_equal(hes_fair_queue_add(q, 0, &a->t, &tenant, NULL), 0);
		if (tenant != i) { /* the queue chooses the index */
			p->a[tenant] = *a;
			a->here = false;
		}
		return;
	case 1:
		a->t = draw_tenant(rng);
		assert_int_equal(hes_fair_queue_change(q, (uint32_t)i, &a->t, NULL), 0);
		return;
	case 2:
		p->phi = (double)hes_rng_below(rng, 11) / 10;
		assert_int_equal(hes_fair_queue_set_phi(q, p->phi, NULL), 0);
		return;
	default:
		if (hes_rng_below(rng, 2) || !a->items) {
			submit(q, (uint32_t)i, 2);
			plain_items(p, i, a->items + 2);
		} else {
			uint64_t items = 1 + hes_rng_below(rng, a->items);

			done(q, (uint32_t)i, items);
			plain_items(p, i, a->items - items);
		}
	}
}

TEST(picks_equal_those_of_a_plain_queue)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 1);
	for (int k = 0; k < RANDOM_CASES(300); k++) {
		struct plain p = { .phi = 0.7, .interval = 1 + hes_rng_below(&rng, 300) };
		struct hes_fair_queue *q = queue_of(ETF, p.phi, p.interval);
		size_t most = 1 + hes_rng_below(&rng, k % 10 ? 12 : MANY);

		for (int event = 0; event < 1000; event++)
			if (hes_rng_below(&rng, 3))
				random_turn(q, &p, &rng);
			else
				random_change(q, &p, &rng, most);
		for (size_t i = 0; i < MANY; i++)
			if (p.a[i].here) {
				struct hes_fair_usage u = usage(q, (uint32_t)i);

				assert_int_equal(u.items, p.a[i].items);
				assert_int_equal(u.time_ns, p.a[i].time_ns);
				assert_true(u.vruntime == p.a[i].vruntime);
			}
		hes_fair_queue_destroy(q);
	}
}

static uint32_t add_of(struct hes_fair_queue *q, uint32_t user, double power_w)
{
	const struct hes_fair_tenant t = { power_w, 1, HES_FAIR_BACKLOGGED };
	uint32_t tenant = UINT32_MAX;

	assert_int_equal(hes_fair_queue_add(q, user, &t, &tenant, NULL), 0);
	submit(q, tenant, 1);
	return tenant;
}

/* Time of tenant 0, as a part of all, where turns of the others last @times their slices. */
static double first_part(struct hes_fair_queue *q, uint64_t times)
{
	uint64_t first = 0, all = 0;

	for (int k = 0; k < 20000; k++) {
		struct hes_fair_turn t = pick(q);
		uint64_t took = t.tenant ? times * t.slice_ns : t.slice_ns;

		charge(q, t.tenant, took);
		first += t.tenant ? 0 : took;
		all += took;
	}
	return (double)first / (double)all;
}

/* Also where they never release, so that each turn lasts many slices. */
TEST(a_user_with_64_names_has_the_time_of_one_with_one)
{
	for (uint64_t times = 1; times <= 1000; times *= 10) {
		struct hes_fair_queue *q = queue_of(TIME, 0, 200);

		add_of(q, 7, 100);
		for (int i = 0; i < 64; i++)
			add_of(q, 8, 100);
		assert_true(fabs(first_part(q, times) - 0.5) < 0.01);
		assert_int_equal(hes_fair_queue_set_user(q, 7, 3, NULL), 0);
		assert_true(fabs(first_part(q, times) - 0.75) < 0.01);
		hes_fair_queue_destroy(q);
	}
}

/* In each user, and between users of the power at which the energies of their tenants are equal. */
TEST(energy_can_be_equal_up_to_the_phi_of_the_worst_level)
{
	struct hes_fair_queue *q = queue_of(ETF, 0.5, 30);
	const struct hes_fair_tenant other = { 1.6, 1, HES_FAIR_BACKLOGGED };
	uint32_t small = add(q, 2, 1), large = add(q, 8, 1), alone;

	assert_true(hes_fair_queue_phi_fair(q) == 1);
	assert_int_equal(hes_fair_queue_add(q, 1, &other, &alone, NULL), 0);
	submit(q, small, 1);
	submit(q, large, 1);
	assert_true(fabs(hes_fair_queue_phi_fair(q) - 3.2 / 8) < 1e-12);
	submit(q, alone, 1);
	assert_true(fabs(hes_fair_queue_phi_fair(q) - 3.2 / 8) < 1e-12);
	done(q, large, 1);
	assert_true(fabs(hes_fair_queue_phi_fair(q) - 16. / 18) < 1e-12);
	hes_fair_queue_destroy(q);
}

/* A new name of a user has the user's debt; a user that was alone owes nothing. */
TEST(a_debt_of_a_user_outlives_its_tenants)
{
	struct hes_fair_queue *q = queue_of(TIME, 0, 20);
	uint32_t a = add_of(q, 1, 100), b;

	charge(q, pick(q).tenant, 1000 * pick(q).slice_ns);
	b = add_of(q, 2, 100);
	charge(q, a, 10 * pick(q).slice_ns); /* slices of half an interval */
	for (int k = 0; k < 3; k++)
		assert_int_equal(full_turn(q), b);
	assert_int_equal(hes_fair_queue_remove(q, a, NULL), 0);
	a = add_of(q, 1, 100);
	for (int k = 0; k < 7; k++)
		assert_int_equal(full_turn(q), b);
	assert_int_equal(full_turn(q), a);
	assert_int_equal(hes_fair_queue_remove(q, a, NULL), 0);
	add_of(q, 3, 100); /* not in the place of user 1, which has a debt again */
	a = add_of(q, 1, 100);
	assert_int_not_equal(full_turn(q), a);
	hes_fair_queue_destroy(q);
}

static void check_config_refused(struct hes_fair_queue_config c, const char *says)
{
	struct hes_fair_queue *q = NULL;
	struct hes_err err = { 0 };

	assert_int_equal(hes_fair_queue_create(&c, &q, &err), -EINVAL);
	assert_null(q);
	assert_non_null(strstr(err.msg, says));
}

TEST(a_queue_of_bad_numbers_is_refused)
{
	const struct hes_fair_policy *etf = &hes_fair_policies[ETF];

	check_config_refused((struct hes_fair_queue_config){ NULL, 0.5, 30, 1 }, "no policy");
	check_config_refused((struct hes_fair_queue_config){ etf, 1.5, 30, 1 }, "phi 1.5");
	check_config_refused((struct hes_fair_queue_config){ etf, NAN, 30, 1 }, "phi");
	check_config_refused((struct hes_fair_queue_config){ etf, 0.5, 0, 1 }, "interval of 0");
	check_config_refused((struct hes_fair_queue_config){ etf, 0.5, 30, 0 }, "quantum of 0 ns");
	check_config_refused(
		(struct hes_fair_queue_config){ etf, 0.5, 1000, HES_FAIR_MAX_NS / 1000 + 1 },
		"quantum of");
}

TEST(bad_tenants_and_charges_are_refused_and_change_nothing)
{
	const struct hes_fair_tenant good = { 100, 1, HES_FAIR_BACKLOGGED }, bad[] = {
		{ 0, 1, 1 }, { -1, 1, 1 },  { NAN, 1, 1 }, { INFINITY, 1, 1 },
		{ 1, 0, 1 }, { 1, NAN, 1 }, { 1, 1, 0 },
	};
	struct hes_fair_queue *q = queue_of(ETF, 0.7, 30);
	struct hes_fair_usage before, after;
	struct hes_err err = { 0 };
	uint32_t tenant = 77;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(hes_fair_queue_add(q, 0, &bad[i], &tenant, NULL), -EINVAL);
	assert_int_equal(tenant, 77);
	assert_int_equal(add(q, 100, 1), 0);
	assert_int_equal(hes_fair_queue_charge(q, 0, 1, 1, &err), -EINVAL);
	assert_string_equal(err.msg, "tenant 0 never had a slice, so it cannot have run");
	submit(q, 0, 5);
	full_turn(q);
	before = usage(q, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(hes_fair_queue_change(q, 0, &bad[i], NULL), -EINVAL);
	assert_int_equal(hes_fair_queue_charge(q, 0, HES_FAIR_MAX_NS + 1, 0, NULL), -EINVAL);
	assert_int_equal(hes_fair_queue_charge(q, 0, 1, -1, NULL), -EINVAL);
	assert_int_equal(hes_fair_queue_charge(q, 0, 1, NAN, NULL), -EINVAL);
	assert_int_equal(hes_fair_queue_charge(q, 0, 1, INFINITY, NULL), -EINVAL);
	assert_int_equal(hes_fair_queue_done(q, 0, 6, NULL), -EINVAL);
	assert_int_equal(hes_fair_queue_submit(q, 0, HES_FAIR_MAX_ITEMS, NULL), -EINVAL);
	assert_int_equal(hes_fair_queue_submit(q, 0, UINT64_MAX, NULL), -EINVAL);
	assert_int_equal(hes_fair_queue_set_phi(q, -0.1, NULL), -EINVAL);
	assert_int_equal(hes_fair_queue_set_phi(q, NAN, NULL), -EINVAL);
	after = usage(q, 0);
	assert_memory_equal(&before, &after, sizeof(before));
	for (uint32_t i = 1; i <= UINT32_MAX / 2; i *= 2) {
		assert_int_equal(hes_fair_queue_submit(q, i, 1, NULL), -ENOENT);
		assert_int_equal(hes_fair_queue_charge(q, i, 1, 1, NULL), -ENOENT);
		assert_int_equal(hes_fair_queue_change(q, i, &good, NULL), -ENOENT);
		assert_int_equal(hes_fair_queue_usage(q, i, &after, NULL), -ENOENT);
		assert_int_equal(hes_fair_queue_remove(q, i, NULL), -ENOENT);
	}
	hes_fair_queue_destroy(q);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
