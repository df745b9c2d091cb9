/*
 * test_fair_crowd.c - the run queue with more tenants than HES_FAIR_EXACT_TENANTS: slices while
 * tenants come and go.
 */
#include "base/rng.h"
#include "heshare/fair_queue.h"
#include "unit_test.h"

#define QUANTUM 1000 /* ns */
#define CROWD   900

_Static_assert(CROWD / 3 > HES_FAIR_EXACT_TENANTS, "those who stay are a crowd");

enum { TIME, ENERGY, ETF, MIRROR };

static struct hes_fair_queue *queue_of(int policy, double phi, uint64_t interval)
{
	const struct hes_fair_queue_config c = { &hes_fair_policies[policy], phi, interval,
						 QUANTUM };
	struct hes_fair_queue *q = NULL;

	assert_int_equal(hes_fair_queue_create(&c, &q, NULL), 0);
	return q;
}

static void add(struct hes_fair_queue *q, const struct hes_fair_tenant *t)
{
	uint32_t tenant;

	assert_int_equal(hes_fair_queue_add(q, t, 1, &tenant, NULL), 0);
}

static struct hes_fair_turn full_turn(struct hes_fair_queue *q)
{
	struct hes_fair_turn t;

	assert_true(hes_fair_queue_pick(q, &t));
	assert_int_equal(hes_fair_queue_charge(q, t.tenant, t.slice_ns, 0, NULL), 0);
	return t;
}

static struct hes_fair_usage usage(const struct hes_fair_queue *q, uint32_t tenant)
{
	struct hes_fair_usage u;

	assert_int_equal(hes_fair_queue_usage(q, tenant, &u, NULL), 0);
	return u;
}

struct crowd {
	struct hes_fair_tenant t[CROWD];
	bool busy[CROWD];
};

static void crowd_toggle(struct crowd *c, struct hes_fair_queue *q, uint32_t i)
{
	if (c->busy[i])
		assert_int_equal(hes_fair_queue_done(q, i, 0, 1, NULL), 0);
	else
		assert_int_equal(hes_fair_queue_submit(q, i, 0, 1, NULL), 0);
	c->busy[i] = !c->busy[i];
}

/* Slices of those with work; 0 of others. */
static void crowd_slices(const struct crowd *c, int policy, uint64_t interval, double phi,
			 uint64_t *out)
{
	static struct hes_fair_tenant t[CROWD];
	static uint64_t slices[CROWD];
	struct hes_fair_request r = { &hes_fair_policies[policy], interval, phi, t, 0 };
	size_t k = 0;

	for (size_t i = 0; i < CROWD; i++)
		if (c->busy[i])
			t[r.n++] = c->t[i];
	assert_int_equal(hes_fair_slices(&r, slices, NULL), 0);
	for (size_t i = 0; i < CROWD; i++)
		out[i] = c->busy[i] ? slices[k++] : 0;
}

/* Tenants come, go and change at each pick, then no more. The first 300 stay all the time. */
TEST(slices_of_a_crowd_follow_changes)
{
	enum { STAY = 300, INTERVAL = 100000 };
	static struct crowd c;
	static uint64_t slices[CROWD];
	struct hes_rng rng;

	hes_rng_seed(&rng, 5);
	for (int round = 0; round < 12; round++) {
		const int policy = round < 6 ? ETF : MIRROR;
		const double phi = 0.2 * (round % 6);
		struct hes_fair_queue *q = queue_of(policy, phi, INTERVAL);

		for (uint32_t i = 0; i < CROWD; i++) {
			c.t[i] = (struct hes_fair_tenant){ 50 + 250 * hes_rng_unit(&rng),
							   (double)(1 + hes_rng_below(&rng, 3)),
							   HES_FAIR_BACKLOGGED };
			c.busy[i] = false;
			add(q, &c.t[i]);
			if (i < STAY || i % 2)
				crowd_toggle(&c, q, i);
		}
		for (int k = 0; k < 3000; k++) {
			uint32_t i = STAY + (uint32_t)hes_rng_below(&rng, CROWD - STAY);
			struct hes_fair_turn t;

			if (hes_rng_below(&rng, 4)) {
				crowd_toggle(&c, q, i);
			} else {
				c.t[i].power_w = 50 + 250 * hes_rng_unit(&rng);
				assert_int_equal(hes_fair_queue_change(q, i, &c.t[i], NULL), 0);
			}
			t = full_turn(q);
			if (k % 10 == 0) {
				crowd_slices(&c, policy, INTERVAL, phi, slices);
				assert_true((double)t.slice > 0.7 * (double)slices[t.tenant] - 2 &&
					    (double)t.slice < 1.4 * (double)slices[t.tenant] + 2);
			}
		}
		for (int k = 0; k < CROWD; k++)
			full_turn(q);
		full_turn(q);
		crowd_slices(&c, policy, INTERVAL, phi, slices);
		for (uint32_t i = 0; i < CROWD; i++)
			if (c.busy[i])
				assert_int_equal(usage(q, i).slice, slices[i]);
		hes_fair_queue_destroy(q);
	}
}

/* Among equal tenants nobody gains by when it came: at most a quantum for each slice, and one turn.
 */
TEST(equal_tenants_in_a_crowd_have_equal_time)
{
	enum { STAY = 300, INTERVAL = 100000, PICKS = 200000 };
	struct hes_fair_queue *q = queue_of(ETF, 0.7, INTERVAL);
	uint64_t least = UINT64_MAX, most = 0;
	struct hes_rng rng;
	static struct crowd c;

	hes_rng_seed(&rng, 6);
	for (uint32_t i = 0; i < CROWD; i++) {
		c.busy[i] = false;
		add(q, &(struct hes_fair_tenant){ 100, 1, HES_FAIR_BACKLOGGED });
		if (i < STAY)
			crowd_toggle(&c, q, i);
	}
	for (int k = 0; k < PICKS; k++) {
		crowd_toggle(&c, q, STAY + (uint32_t)hes_rng_below(&rng, CROWD - STAY));
		full_turn(q);
	}
	for (uint32_t i = 0; i < STAY; i++) {
		uint64_t time_ns = usage(q, i).time_ns;

		least = time_ns < least ? time_ns : least;
		most = time_ns > most ? time_ns : most;
	}
	assert_true((double)least > 0.98 * (double)most);
	hes_fair_queue_destroy(q);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
