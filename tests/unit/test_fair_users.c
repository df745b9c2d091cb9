/*
 * test_fair_users.c - slices of tenants that belong to users: the paper's theorems in two levels,
 * and where they do not hold.
 */
#include <errno.h>

#include "fair_case.h"

static void divide(struct fair_case *c)
{
	c->r.tenants = c->t;
	assert_int_equal(hes_fair_slices_of_users(&c->r, c->users, c->n_users, c->slices, NULL), 0);
}

static uint64_t capped(uint64_t x, uint64_t most)
{
	return x < most ? x : most;
}

/* A user as a tenant: its quanta, its demand, and the mean power that it had; 0: it had none. */
struct user_sums {
	uint64_t slice, demand;
	double power_w, energy, weight;
	struct hes_fair_request own; /* its tenants, in its slice */
	const uint64_t *slices;
};

static struct user_sums sums_of(const struct fair_case *c, size_t user)
{
	struct user_sums s = { .own = c->r, .weight = c->users[user].weight };
	size_t first = 0;

	for (size_t u = 0; u < user; u++)
		first += c->users[u].n;
	s.own.tenants = &c->t[first];
	s.own.n = c->users[user].n;
	s.slices = &c->slices[first];
	for (size_t i = 0; i < s.own.n; i++) {
		s.slice += s.slices[i];
		s.demand += capped(s.own.tenants[i].demand, c->r.interval);
		s.energy += hes_fair_energy(&s.own.tenants[i], s.slices[i]);
	}
	s.own.interval = s.slice;
	s.power_w = s.slice ? s.energy / (double)s.slice : 0;
	return s;
}

static void draw_case(struct hes_rng *rng, uint64_t most_t, bool demands, struct fair_case *c)
{
	draw_users(rng, MOST, most_t, demands, 20, c);
}

static struct fair_case example(size_t a, size_t b, size_t c)
{
	return (struct fair_case){ .r = { &hes_fair_policies[ETF], 30, 0.7, NULL, 3 },
				   .t = { backlogged(2), backlogged(3), backlogged(8) },
				   .users = { { 1, a }, { 1, b }, { 1, c } },
				   .n_users = c   ? 3
					      : b ? 2
						  : 1 };
}

/* Section 4.3 of the paper: one user, and one tenant for each user. Tenants of 2 W and 3 W that
 * belong to one user are as one of 2.4 W; the user of 8 W has its guarantee, 10 quanta. */
TEST(slices_of_the_papers_example_are_14_9_7_for_one_user_and_for_three)
{
	const uint64_t slices[] = { 14, 9, 7 }, two_users[] = { 12, 8, 10 };
	struct fair_case c = example(3, 0, 0);

	divide(&c);
	assert_memory_equal(c.slices, slices, sizeof(slices));
	c = example(1, 1, 1);
	divide(&c);
	assert_memory_equal(c.slices, slices, sizeof(slices));
	c = example(2, 1, 0);
	divide(&c);
	assert_memory_equal(c.slices, two_users, sizeof(two_users));
}

TEST(one_user_or_one_tenant_for_each_is_algorithm_1)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 1);
	for (int k = 0; k < RANDOM_CASES(4000); k++) {
		uint64_t plain[MOST];
		struct fair_case c;

		draw_case(&rng, k % 10 ? 200 : 100000, true, &c);
		c.n_users = k % 2 ? 1 : c.r.n;
		for (size_t u = 0; u < c.n_users; u++) {
			c.users[u].n = k % 2 ? c.r.n : 1;
			c.users[u].weight = k % 2 ? 3 : c.t[u].weight;
		}
		divide(&c);
		assert_int_equal(hes_fair_slices(&c.r, plain, NULL), 0);
		assert_memory_equal(c.slices, plain, c.r.n * sizeof(*plain));
	}
}

/* Inside a user all theorems of test_fair.c hold. */
TEST(tenants_of_a_user_have_algorithm_1_in_its_slice)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 2);
	for (int k = 0; k < RANDOM_CASES(1000); k++) {
		struct fair_case c;

		draw_case(&rng, 2000, k % 2, &c);
		divide(&c);
		for (size_t u = 0; u < c.n_users; u++) {
			const struct user_sums s = sums_of(&c, u);
			uint64_t own[MOST];

			if (!s.slice)
				continue;
			assert_int_equal(hes_fair_slices(&s.own, own, NULL), 0);
			assert_memory_equal(s.slices, own, s.own.n * sizeof(*own));
		}
	}
}

/* The powers that users had make Algorithm 1 give the slices that they had: the fixed point. In an
 * interval so long that whole quanta do not matter. */
TEST(slices_of_users_are_those_of_their_mean_powers)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 3);
	for (int k = 0; k < RANDOM_CASES(1000); k++) {
		uint64_t slices[MOST];
		struct hes_fair_tenant as[MOST];
		struct hes_fair_request r;
		struct fair_case c;

		draw_case(&rng, 1, false, &c);
		c.r.interval = HES_FAIR_MAX_INTERVAL;
		for (size_t i = 0; i < c.r.n; i++)
			c.t[i].power_w = draw_number(&rng, false, 4);
		for (size_t i = 0; k % 2 && i < c.r.n; i++)
			if (hes_rng_below(&rng, 3))
				c.t[i].demand =
					(uint64_t)(hes_rng_unit(&rng) * 2e12 / (double)c.r.n);
		if (c.r.policy == &hes_fair_policies[MIRROR])
			c.r.policy =
				&hes_fair_policies[ETF]; /* powers of Eq. 3 are not those had */
		divide(&c);
		r = c.r;
		r.tenants = as;
		r.n = 0;
		for (size_t u = 0; u < c.n_users; u++) {
			const struct user_sums s = sums_of(&c, u);

			if (s.demand > 1000000)
				as[r.n++] = (struct hes_fair_tenant){
					fmax(s.power_w, HES_FAIR_MIN_NUMBER), s.weight, s.demand
				};
		}
		if (r.n != c.n_users)
			continue;
		assert_int_equal(hes_fair_slices(&r, slices, NULL), 0);
		for (size_t u = 0; u < c.n_users; u++)
			assert_true(fabs((double)slices[u] - (double)sums_of(&c, u).slice) <=
				    1e-4 * (double)c.r.interval);
	}
}

/* Theorem 1 */
TEST(slices_of_users_are_pareto_efficient)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 4);
	for (int k = 0; k < RANDOM_CASES(2000); k++) {
		uint64_t sum = 0;
		bool met = true;
		struct fair_case c;

		draw_case(&rng, 100000, true, &c);
		divide(&c);
		for (size_t i = 0; i < c.r.n; i++) {
			sum += c.slices[i];
			met &= c.slices[i] == c.t[i].demand;
			assert_true(c.slices[i] <= c.t[i].demand);
		}
		assert_true(sum == c.r.interval || (met && sum < c.r.interval));
	}
}

static double guaranteed(const struct fair_case *c, double whole, double weight, double weights)
{
	return floor(c->r.phi * whole * weight / weights * (1 - 1e-13));
}

/* A user has the part phi of its fair share of the interval, a tenant that of its user's slice. */
TEST(the_minimum_time_is_guaranteed_in_both_levels)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 5);
	for (int k = 0; k < RANDOM_CASES(2000); k++) {
		double weights = 0;
		struct fair_case c;

		draw_case(&rng, 100000, true, &c);
		c.r.policy = &hes_fair_policies[ETF];
		divide(&c);
		for (size_t u = 0; u < c.n_users; u++)
			weights += c.users[u].weight;
		for (size_t u = 0; u < c.n_users; u++) {
			const struct user_sums s = sums_of(&c, u);
			double own = 0;

			assert_true((double)s.slice >=
				    fmin((double)s.demand,
					 guaranteed(&c, (double)c.r.interval, s.weight, weights)));
			for (size_t i = 0; i < s.own.n; i++)
				own += s.own.tenants[i].weight;
			for (size_t i = 0; i < s.own.n; i++)
				assert_true((double)s.slices[i] >=
					    fmin((double)s.own.tenants[i].demand,
						 guaranteed(&c, (double)s.slice,
							    s.own.tenants[i].weight, own)));
		}
	}
}

/* phi of phi: a user of high power has its guarantee only, and so has its tenant of high power. A
 * tenant's fair share of the interval is 250 quanta, of which phi are 175. */
TEST(a_tenant_may_have_less_than_phi_of_its_fair_share_of_the_interval)
{
	struct fair_case c = { .r = { &hes_fair_policies[ETF], 1000, 0.7, NULL, 3 },
			       .t = { backlogged(1), backlogged(100), backlogged(800) },
			       .users = { { 1, 1 }, { 1, 2 } },
			       .n_users = 2 };

	divide(&c);
	assert_int_equal(c.slices[0], 650);
	assert_int_equal(c.slices[2], 122); /* of 350, 122.5 are guaranteed */
}

/* Theorem 3 for users. Their slices go by mean powers where slices are not rounded, so that in
 * whole quanta energies may differ by those of a quantum of each tenant. */
TEST(the_smallest_energy_of_a_user_is_maximal_up_to_a_quantum_of_each_tenant)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 6);
	for (int k = 0; k < RANDOM_CASES(2000); k++) {
		double weights = 0, least = INFINITY, rounding = 0;
		struct fair_case c;

		draw_case(&rng, 100000, false, &c);
		c.r.policy = &hes_fair_policies[k % 2 ? ENERGY : ETF];
		c.r.phi = k % 2 ? 0 : c.r.phi;
		divide(&c);
		for (size_t u = 0; u < c.n_users; u++) {
			const struct user_sums s = sums_of(&c, u);
			double one = 0;

			weights += s.weight;
			for (size_t i = 0; i < s.own.n; i++)
				one += s.own.tenants[i].power_w;
			rounding = fmax(rounding, one / s.weight);
			least = fmin(least, s.energy / s.weight);
		}
		for (size_t u = 0; u < c.n_users; u++) {
			const struct user_sums s = sums_of(&c, u);
			double more = (double)s.slice -
				      guaranteed(&c, (double)c.r.interval, s.weight, weights);

			if (more > 1)
				assert_true(s.energy / s.weight <= least + 2 * rounding);
		}
	}
}

/* Tenants of 5 W and 1 W are as one of 1.7 W, and have 2 of 3 quanta. One each, they take 6 J, and
 * the user of 2 W takes 2 J. One quantum for 5 W, and two for the other user, would be 5 J and 4 J.
 */
TEST(in_whole_quanta_the_smallest_energy_of_a_user_may_not_be_maximal)
{
	struct fair_case c = { .r = { &hes_fair_policies[ENERGY], 3, 0, NULL, 3 },
			       .t = { backlogged(5), backlogged(1), backlogged(2) },
			       .users = { { 1, 2 }, { 1, 1 } },
			       .n_users = 2 };

	divide(&c);
	assert_int_equal(c.slices[0] * 100 + c.slices[1] * 10 + c.slices[2], 111);
	c.users[0].n = 1; /* what the user of 5 W would have with one quantum */
	assert_true(fmin(5 * 1, 2 * 2) > fmin(5 * 1 + 1 * 1, 2 * 1));
}

/* What a user gains by more names is nothing: that is what users are for. */
TEST(more_names_bring_a_user_no_time)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 7);
	for (int k = 0; k < RANDOM_CASES(2000); k++) {
		struct fair_case c;
		uint64_t had;
		size_t u;

		draw_case(&rng, 5000, false, &c);
		u = c.n_users - 1;
		c.r.n -= c.users[u].n - 1;
		c.users[u].n = 1;
		divide(&c);
		had = sums_of(&c, u).slice;
		for (; c.r.n < MOST; c.r.n++, c.users[u].n++)
			c.t[c.r.n] = (struct hes_fair_tenant){ c.t[c.r.n - 1].power_w,
							       draw_number(&rng, false, 4),
							       HES_FAIR_BACKLOGGED };
		divide(&c);
		assert_int_equal(sums_of(&c, u).slice, had);
	}
}

/* Useful quanta of a tenant, whose demand is reported as another one. */
static uint64_t useful(struct fair_case *c, size_t i, uint64_t reported)
{
	const uint64_t demand = c->t[i].demand;

	c->t[i].demand = reported;
	divide(c);
	c->t[i].demand = demand;
	return capped(c->slices[i], demand);
}

/* Theorem 2, demands. A quantum can be gained: with a longer slice of their user, tenants may have
 * a quantum less, because guarantees are rounded down. Under etf-energy more can be, see below. */
TEST(a_false_demand_gains_a_quantum_at_most_among_users)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 8);
	for (int k = 0; k < RANDOM_CASES(2000); k++) {
		struct fair_case c;
		uint64_t had, i, reported;

		draw_case(&rng, 5000, true, &c);
		if (c.r.policy == &hes_fair_policies[MIRROR])
			c.r.policy = &hes_fair_policies[ETF];
		i = hes_rng_below(&rng, c.r.n);
		had = useful(&c, i, c.t[i].demand);
		reported = hes_rng_below(&rng, 4) ? hes_rng_below(&rng, c.r.interval + 2)
						  : HES_FAIR_BACKLOGGED;
		assert_true(useful(&c, i, reported) <= had + 1);
	}
}

/* Theorem 2 does not hold for demands where energy is guaranteed. The guarantee of a user is by its
 * power, which its tenants change by what they report. In whole quanta, policy etf has a case, too.
 */
TEST(a_false_demand_can_gain_among_users)
{
	struct fair_case c = { .r = { &hes_fair_policies[ETF], 32, 0, NULL, 3 },
			       .t = { backlogged(5), backlogged(1), backlogged(7) },
			       .users = { { 1, 2 }, { 1, 1 } },
			       .n_users = 2 };

	c.t[0].demand = 11;
	c.t[1].demand = 21;
	assert_int_equal(useful(&c, 1, 21), 20);
	assert_int_equal(useful(&c, 1, HES_FAIR_BACKLOGGED), 21);
	c.r.policy = &hes_fair_policies[MIRROR];
	c.r.interval = 296;
	c.r.phi = 0.6;
	c.t[0].demand = 21;
	c.t[1].demand = 145;
	c.t[2].power_w = 8;
	assert_int_equal(useful(&c, 1, 145), 128);
	assert_int_equal(useful(&c, 1, HES_FAIR_BACKLOGGED), 131);
}

/* Theorem 2, power. A quantum can be gained, as above. */
TEST(a_higher_power_gains_a_quantum_at_most_among_users)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 9);
	for (int k = 0; k < RANDOM_CASES(2000); k++) {
		struct fair_case c;
		uint64_t had, i;

		draw_case(&rng, 5000, false, &c);
		divide(&c);
		i = hes_rng_below(&rng, c.r.n);
		had = c.slices[i];
		c.t[i].power_w *= 1 + 3 * hes_rng_unit(&rng);
		divide(&c);
		assert_true(c.slices[i] <= had + 1);
	}
}

TEST(a_huge_interval_is_divided_to_the_last_quantum_among_users)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 10);
	for (int k = 0; k < RANDOM_CASES(200); k++) {
		struct fair_case c;

		draw_case(&rng, 1, false, &c);
		draw_extremes(&rng, k, &c);
		for (size_t i = 1; k % 2 && i < c.r.n; i++)
			c.t[i].demand = HES_FAIR_MAX_INTERVAL / (1 + i);
		divide(&c);
		assert_true(slices_sum(&c) == c.r.interval);
	}
}

static void refused(struct fair_case *c, const char *text)
{
	struct hes_err err;

	c->r.tenants = c->t;
	memset(c->slices, 0x55, sizeof(c->slices));
	assert_int_equal(hes_fair_slices_of_users(&c->r, c->users, c->n_users, c->slices, &err),
			 -EINVAL);
	assert_string_equal(err.msg, text);
	for (size_t i = 0; i < sizeof(c->slices); i++)
		assert_int_equal(((unsigned char *)c->slices)[i], 0x55);
}

TEST(bad_users_are_refused_and_nothing_is_written)
{
	struct fair_case c = example(2, 1, 0);

	c.users[1].weight = NAN;
	refused(&c, "user 1: weight nan is outside 1e-06 to 1e+06");
	c = example(2, 2, 0);
	refused(&c, "user 1: 2 tenants are outside 1 to 1, those that are left");
	c = example(1, 1, 0);
	refused(&c, "2 users have 2 of 3 tenants");
	c = example(2, 1, 0);
	c.t[2].power_w = 0;
	refused(&c, "tenant 2: power 0 is outside 1e-06 to 1e+06");
	c = example(3, 1, 0);
	refused(&c, "user 1: 1 tenants are outside 1 to 0, those that are left");
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
