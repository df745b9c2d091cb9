/*
 * test_fair.c - slices of an interval: the paper's example and theorems, the fast version against
 * Algorithm 1, limits, the TX2 profiles that the paper's authors published (HES_DATA).
 */
#include <sys/stat.h>

#include "fair_case.h"
#include "slices_plain.h"

#define assert_near(a, b, by) assert_true(fabs((a) - (b)) <= (by))

static void divide(struct fair_case *c)
{
	c->r.tenants = c->t;
	assert_int_equal(hes_fair_slices(&c->r, c->slices, NULL), 0);
}

/* What the policy makes equal. */
static double normalised(const struct fair_case *c, size_t i, uint64_t slice)
{
	return (c->r.policy->equal_time ? (double)slice : hes_fair_energy(&c->t[i], slice)) /
	       c->t[i].weight;
}

static void draw_case(struct hes_rng *rng, size_t most_n, uint64_t most_t, struct fair_case *c)
{
	draw_users(rng, most_n, most_t, hes_rng_below(rng, 2), 24, c);
}

static struct fair_case example(void)
{
	return (struct fair_case){ .r = { &hes_fair_policies[ETF], 30, 0.7, NULL, 3 },
				   .t = { backlogged(2), backlogged(3), backlogged(8) } };
}

/* Section 4.3 of the paper. */
TEST(slices_of_the_papers_example_are_14_9_7)
{
	const uint64_t slices[] = { 14, 9, 7 };
	struct fair_case c = example();
	struct hes_fairness f;

	divide(&c);
	assert_memory_equal(c.slices, slices, sizeof(slices));
	assert_near(hes_fair_energy(&c.t[0], 14), 28, 0);
	assert_near(hes_fair_energy(&c.t[1], 9), 27, 0);
	assert_near(hes_fair_energy(&c.t[2], 7), 56, 0);
	hes_fair_measure(c.t, 3, c.slices, &f);
	assert_near(f.time, 7. / 14, 0);
	assert_near(f.energy, 27. / 56, 0);
	assert_near(f.system, 27. / 56, 0);
	assert_near(hes_fair_phi_fair(c.t, 3), 3 / (8 * (1. / 2 + 1. / 3 + 1. / 8)), 1e-15);
}

struct rounds {
	size_t n, last;
	uint64_t after[8][3];
};

static void note_round(size_t tenant, const uint64_t *slices, void *ctx)
{
	struct rounds *r = ctx;

	if (tenant != r->last)
		r->n++;
	assert_true(r->n <= 8);
	r->last = tenant;
	memcpy(r->after[r->n - 1], slices, sizeof(r->after[0]));
}

/* Figure 3: the quanta that a tenant gets in a row are a round. */
TEST(rounds_of_the_papers_example_are_those_of_figure_3)
{
	const uint64_t rounds[][3] = {
		{ 11, 7, 7 }, { 11, 8, 7 }, { 13, 8, 7 }, { 13, 9, 7 }, { 14, 9, 7 }
	};
	struct rounds seen = { .last = 3 };
	struct fair_case c = example();

	c.r.tenants = c.t;
	assert_int_equal(fair_slices_plain(&c.r, c.slices, note_round, &seen, NULL), 0);
	assert_int_equal(seen.n, 5);
	assert_memory_equal(seen.after, rounds, sizeof(rounds));
}

/* The end of section 4.1: equal energy are 15.65, 10.43 and 3.91 quanta. */
TEST(the_mirror_guarantees_energy_and_evens_time)
{
	struct fair_case c = example();

	c.r.policy = &hes_fair_policies[MIRROR];
	divide(&c); /* 10, 7 and 2 are guaranteed */
	assert_int_equal(c.slices[0] * 10000 + c.slices[1] * 100 + c.slices[2], 101010);
	c.r.phi = 0.9; /* 14, 9 and 3 */
	divide(&c);
	assert_int_equal(c.slices[0] * 10000 + c.slices[1] * 100 + c.slices[2], 140907);
}

TEST(the_fast_version_is_equal_to_algorithm_1)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 1);
	for (int k = 0; k < RANDOM_CASES(20000); k++) {
		uint64_t plain[MOST];
		struct fair_case c;

		draw_case(&rng, MOST, k % 10 ? 200 : 20000, &c);
		divide(&c);
		assert_int_equal(fair_slices_plain(&c.r, plain, NULL, NULL, NULL), 0);
		assert_memory_equal(c.slices, plain, c.r.n * sizeof(*plain));
	}
}

/* More tenants than quanta, and so many that the level leaves much to the heap. */
TEST(the_fast_version_is_equal_to_algorithm_1_for_many_tenants)
{
	enum { MANY = 700 };
	struct hes_fair_tenant t[MANY];
	uint64_t fast[MANY], plain[MANY];
	struct hes_rng rng;

	hes_rng_seed(&rng, 2);
	for (int k = 0; k < RANDOM_CASES(300); k++) {
		const bool coarse = k % 2, equal = k % 5 == 0;
		const struct hes_fair_request r = { &hes_fair_policies[k % POLICIES],
						    1 + hes_rng_below(&rng, 8000),
						    hes_rng_unit(&rng), t,
						    1 + hes_rng_below(&rng, MANY) };

		for (size_t i = 0; i < r.n; i++)
			t[i] = (struct hes_fair_tenant){ equal ? 5 : draw_number(&rng, coarse, 24),
							 k % 3 ? 1 : draw_number(&rng, coarse, 24),
							 hes_rng_below(&rng, 4)
								 ? HES_FAIR_BACKLOGGED
								 : hes_rng_below(&rng, 30) };
		assert_int_equal(hes_fair_slices(&r, fast, NULL), 0);
		assert_int_equal(fair_slices_plain(&r, plain, NULL, NULL, NULL), 0);
		assert_memory_equal(fast, plain, r.n * sizeof(*plain));
	}
}

/* Theorem 1: all quanta are assigned, or all demands are met; none is exceeded. */
TEST(slices_are_pareto_efficient)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 3);
	for (int k = 0; k < RANDOM_CASES(20000); k++) {
		uint64_t sum = 0;
		bool met = true;
		struct fair_case c;

		draw_case(&rng, MOST, 100000, &c);
		divide(&c);
		for (size_t i = 0; i < c.r.n; i++) {
			sum += c.slices[i];
			met &= c.slices[i] == c.t[i].demand;
			assert_true(c.slices[i] <= c.t[i].demand);
		}
		assert_true(sum == c.r.interval || (met && sum < c.r.interval));
	}
}

/* Part of the time: by weight, or as long as the same energy for its weight takes. */
static double claim(const struct fair_case *c, size_t i)
{
	return c->t[i].weight / (c->r.policy == &hes_fair_policies[MIRROR] ? c->t[i].power_w : 1);
}

/* The guarantee of Eq. 7, or of its mirror, rounded down; demands are kept. */
static uint64_t guaranteed(const struct fair_case *c, size_t i)
{
	double claims = 0, fair;

	for (size_t k = 0; k < c->r.n; k++)
		claims += claim(c, k);
	fair = floor(c->r.phi * (double)c->r.interval * claim(c, i) / claims * (1 + 1e-13));
	return fair < (double)c->t[i].demand ? (uint64_t)fair : c->t[i].demand;
}

TEST(the_minimum_time_or_energy_is_guaranteed)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 4);
	for (int k = 0; k < RANDOM_CASES(20000); k++) {
		struct fair_case c;

		draw_case(&rng, MOST, 100000, &c);
		c.r.policy = &hes_fair_policies[k % 2 ? MIRROR : ETF];
		divide(&c);
		for (size_t i = 0; i < c.r.n; i++)
			assert_true(c.slices[i] >= guaranteed(&c, i));
	}
}

/* Lemma 3: a tenant with more than the guarantee has, without its last quantum, at most the energy
 * of any other tenant. */
TEST(moving_a_quantum_cannot_raise_the_smallest_energy_or_time)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 5);
	for (int k = 0; k < RANDOM_CASES(20000); k++) {
		double least = INFINITY;
		struct fair_case c;

		draw_case(&rng, MOST, 100000, &c);
		c.r.policy = &hes_fair_policies[k % 2 ? MIRROR : ETF];
		divide(&c);
		for (size_t i = 0; i < c.r.n; i++)
			if (c.slices[i] < c.t[i].demand)
				least = fmin(least, normalised(&c, i, c.slices[i]));
		for (size_t i = 0; i < c.r.n; i++)
			if (c.slices[i] > guaranteed(&c, i))
				assert_true(normalised(&c, i, c.slices[i] - 1) <= least);
	}
}

/* The largest possible minimum of the energies, over all slices that keep guarantees and demands.
 */
static double enumerate(const struct fair_case *c, size_t i, uint64_t left, double least)
{
	double best = 0;

	if (i == c->r.n)
		return least;
	for (uint64_t s = guaranteed(c, i); s <= left && s <= c->t[i].demand; s++)
		best = fmax(best, enumerate(c, i + 1, left - s, fmin(least, normalised(c, i, s))));
	return best;
}

/* Theorem 3, against every other way to divide the interval. */
TEST(the_smallest_energy_or_time_of_a_tenant_is_maximal)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 6);
	for (int k = 0; k < RANDOM_CASES(5000); k++) {
		double least = INFINITY;
		struct fair_case c;

		draw_case(&rng, 4, 20, &c);
		c.r.policy = &hes_fair_policies[k % 2 ? MIRROR : ETF];
		divide(&c);
		for (size_t i = 0; i < c.r.n; i++)
			least = fmin(least, normalised(&c, i, c.slices[i]));
		assert_true(least >= enumerate(&c, 0, c.r.interval, INFINITY));
	}
}

/* Theorem 2, demands: what is of use to a tenant is up to its true demand. */
TEST(a_false_demand_gains_nothing)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 7);
	for (int k = 0; k < RANDOM_CASES(20000); k++) {
		struct fair_case c;
		uint64_t demand, had, i;

		draw_case(&rng, MOST, 5000, &c);
		divide(&c);
		i = hes_rng_below(&rng, c.r.n);
		demand = c.t[i].demand;
		had = c.slices[i];
		c.t[i].demand = hes_rng_below(&rng, 4) ? hes_rng_below(&rng, c.r.interval + 2)
						       : HES_FAIR_BACKLOGGED;
		divide(&c);
		assert_true((c.slices[i] < demand ? c.slices[i] : demand) <= had);
	}
}

/*
 * What a tenant that draws more and keeps its slice can gain where energy is to be equal: a quantum
 * of its own and one of another that wants more. Infinite where all others have what they want.
 */
static double gain_by_whole_quanta(const struct fair_case *c, size_t i)
{
	double least = INFINITY;

	for (size_t k = 0; k < c->r.n; k++)
		if (k != i && c->slices[k] < c->t[k].demand)
			least = fmin(least, c->slices[k] ? normalised(c, k, 1) : 0);
	return c->t[i].power_w + c->t[i].weight * least;
}

/* Theorem 2, power: drawing more never brings time, and under equal energy no more energy than
 * whole quanta make. */
TEST(a_higher_power_gains_nothing)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 8);
	for (int k = 0; k < RANDOM_CASES(20000); k++) {
		struct fair_case c;
		double had_energy;
		uint64_t had, i;

		draw_case(&rng, MOST, 5000, &c);
		if (c.r.policy == &hes_fair_policies[TIME])
			c.r.policy = &hes_fair_policies[ETF];
		divide(&c);
		i = hes_rng_below(&rng, c.r.n);
		had = c.slices[i];
		had_energy = hes_fair_energy(&c.t[i], had);
		c.t[i].power_w *= 1 + 3 * hes_rng_unit(&rng);
		divide(&c);
		assert_true(c.slices[i] <= had);
		if (c.r.policy == &hes_fair_policies[ENERGY] && c.slices[i] == had &&
		    had < c.t[i].demand)
			assert_true(hes_fair_energy(&c.t[i], had) - had_energy <=
				    gain_by_whole_quanta(&c, i) + 1e-9 * had_energy);
	}
}

/* Section 4.4: the two cases in which drawing more brings energy, which the paper grants. The
 * report itself must be true. */
TEST(the_exceptions_of_the_paper_are_reproduced)
{
	struct fair_case c = example();

	c.t[2].power_w = 10;
	divide(&c);
	assert_int_equal(c.slices[2], 7);
	assert_near(hes_fair_energy(&c.t[2], c.slices[2]), 70, 0);
	c.r.phi = 0; /* at 3 W as at 8 W: less is claimed, more time is had */
	c.t[2].power_w = 8;
	divide(&c);
	assert_int_equal(c.slices[2], 4);
	c.t[2].power_w = 3;
	divide(&c);
	assert_true(c.slices[2] > 4);
}

TEST(phi_0_is_equal_energy_and_phi_1_equal_time)
{
	struct fair_case c = example();
	uint64_t slices[3];

	c.r.phi = 0;
	divide(&c);
	memcpy(slices, c.slices, sizeof(slices));
	c.r.policy = &hes_fair_policies[ENERGY];
	c.r.phi = NAN; /* not requested */
	divide(&c);
	assert_memory_equal(c.slices, slices, sizeof(slices));
	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; k < 3; k++)
			assert_true(normalised(&c, i, c.slices[i]) -
					    normalised(&c, k, c.slices[k]) <=
				    c.t[i].power_w);
	for (int by_phi = 0; by_phi < 2; by_phi++) {
		c.r.policy = &hes_fair_policies[by_phi ? ETF : TIME];
		c.r.phi = 1;
		divide(&c);
		for (size_t i = 0; i < 3; i++)
			assert_int_equal(c.slices[i], 10);
	}
}

/* What is left of an interval goes by time, whatever the powers are; at phi = 1 it goes by energy,
 * as in Algorithm 1. */
TEST(policy_time_deals_leftovers_by_time)
{
	struct fair_case c = example();

	c.r.policy = &hes_fair_policies[TIME];
	c.r.interval = 32;
	divide(&c);
	assert_int_equal(c.slices[0] * 10000 + c.slices[1] * 100 + c.slices[2], 111110);
	c.t[0].demand = 2;
	divide(&c);
	assert_int_equal(c.slices[0] * 10000 + c.slices[1] * 100 + c.slices[2], 21515);
	c.t[0].demand = HES_FAIR_BACKLOGGED;
	c.r.policy = &hes_fair_policies[ETF];
	c.r.phi = 1;
	divide(&c);
	assert_int_equal(c.slices[0] * 10000 + c.slices[1] * 100 + c.slices[2], 121010);
}

TEST(limits_are_served)
{
	struct fair_case c = { .r = { &hes_fair_policies[ETF], 1000, 0.3, NULL, 1 },
			       .t = { backlogged(5) } };
	struct hes_fairness f;

	divide(&c);
	assert_int_equal(c.slices[0], 1000);
	assert_near(hes_fair_phi_fair(c.t, 1), 1, 0);
	c.t[0].demand = 0;
	divide(&c);
	assert_int_equal(c.slices[0], 0);
	hes_fair_measure(c.t, 1, c.slices, &f);
	assert_near(f.time + f.energy + f.system, 3, 0);
	c.t[1] = backlogged(7);
	c.r.n = 2;
	divide(&c); /* the guarantee of a tenant without demand goes to the other */
	assert_int_equal(c.slices[1], 1000);
	hes_fair_measure(c.t, 2, c.slices, &f);
	assert_near(f.system, 0, 0);
	c.t[0].demand = 30;
	c.t[1].demand = 40;
	divide(&c);
	assert_int_equal(c.slices[0] + c.slices[1], 70);
	/* Fewer quanta than tenants: one each, from the first on. */
	c.r.n = 5;
	c.r.interval = 3;
	for (size_t i = 0; i < 5; i++)
		c.t[i] = backlogged(1 + (double)i);
	divide(&c);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(c.slices[i], i < 3);
}

TEST(ties_go_to_the_lowest_index)
{
	struct fair_case c = { .r = { &hes_fair_policies[ENERGY], 10, 0, NULL, 4 } };
	const uint64_t slices[] = { 3, 3, 2, 2 };

	for (size_t i = 0; i < 4; i++)
		c.t[i] = backlogged(0.1);
	divide(&c);
	assert_memory_equal(c.slices, slices, sizeof(slices));
}

TEST(a_guarantee_is_not_lost_by_rounding)
{
	struct fair_case c = example();

	c.r.interval = 100 * 3;
	c.r.phi = 0.29; /* 0.29 * 100 is 28.999999999999996 */
	c.t[2].power_w = 1000;
	divide(&c);
	assert_int_equal(c.slices[2], 29);
}

TEST(a_huge_interval_is_divided_to_the_last_quantum)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 9);
	for (int k = 0; k < RANDOM_CASES(2000); k++) {
		struct fair_case c;

		draw_case(&rng, MOST, 100, &c);
		draw_extremes(&rng, k, &c);
		for (size_t i = 0; i < c.r.n; i++)
			c.t[i].demand = i % 3 ? HES_FAIR_BACKLOGGED : HES_FAIR_MAX_INTERVAL / 2;
		divide(&c);
		assert_true(slices_sum(&c) == c.r.interval || c.r.n == 1);
	}
}

static void refused(struct fair_case *c, const char *text)
{
	struct hes_err err;

	c->r.tenants = c->t;
	memset(c->slices, 0x55, sizeof(c->slices));
	assert_int_equal(hes_fair_slices(&c->r, c->slices, &err), -EINVAL);
	if (!strstr(err.msg, text))
		fail_msg("got: %s", err.msg);
	assert_int_equal(fair_slices_plain(&c->r, c->slices, NULL, NULL, NULL), -EINVAL);
	for (size_t i = 0; i < sizeof(c->slices); i++)
		assert_int_equal(((unsigned char *)c->slices)[i], 0x55);
}

TEST(bad_numbers_are_refused_and_nothing_is_written)
{
	const double bad[] = { 0, -1, 1e-7, 1e7, NAN, INFINITY };
	struct fair_case c;
	struct hes_err err;

	for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
		c = example();
		c.t[1].power_w = bad[k];
		refused(&c, "tenant 1: power ");
		c = example();
		c.t[2].weight = bad[k];
		refused(&c, "tenant 2: weight ");
	}
	c = example();
	c.r.phi = 1.01;
	refused(&c, "phi 1.01 is outside 0 to 1");
	c.r.phi = NAN;
	refused(&c, "phi nan is outside 0 to 1");
	c = example();
	c.r.interval = 0;
	refused(&c, "an interval of 0 quanta is outside 1 to 1000000000000");
	c.r.interval = HES_FAIR_MAX_INTERVAL + 1;
	refused(&c, "an interval of");
	c = example();
	c.r.n = 0;
	refused(&c, "0 tenants are outside 1 to 10000");
	c = example();
	c.r.policy = NULL;
	refused(&c, "no policy");
	assert_ptr_equal(hes_fair_policy_find("etf", &err), &hes_fair_policies[ETF]);
	assert_null(hes_fair_policy_find("fair", &err));
	assert_string_equal(err.msg,
			    "unknown policy \"fair\"; known: time, energy, etf, etf-energy");
}

/* Rows of freq_time_power.csv: the power of a model at a clock, W. */
struct tx2 {
	double power_w[64], top_w; /* top_w: ResNet50 at its highest clock */
	double resnet50_w[32];     /* by rising clock */
	size_t n, n_resnet50;
};

static bool tx2_load(struct tx2 *out)
{
	const char *dir = getenv("HES_DATA");
	char path[4096], line[256], model[32];
	double mhz, us, mw, uj;
	FILE *f;

	snprintf(path, sizeof(path), "%s/etf_jetson_tx2/freq_time_power.csv", dir ? dir : "");
	f = dir ? fopen(path, "re") : NULL;
	if (!f)
		return false;
	*out = (struct tx2){ .n = 0 };
	while (fgets(line, sizeof(line), f) && out->n < 64)
		if (sscanf(line, "%31[^,],%lf,%lf,%lf,%lf", model, &mhz, &us, &mw, &uj) == 5) {
			out->power_w[out->n++] = mw / 1e3;
			if (strcmp(model, "resnet50") == 0)
				out->resnet50_w[out->n_resnet50++] = mw / 1e3;
		}
	fclose(f);
	assert_int_equal(out->n, 26);
	assert_int_equal(out->n_resnet50, 13);
	out->top_w = out->resnet50_w[12];
	return true;
}

/* All pairs and many triples of profiles. */
TEST(published_profiles_have_fair_energy_below_phi_fair)
{
	struct hes_rng rng;
	struct tx2 tx2;

	if (!tx2_load(&tx2))
		skip();
	hes_rng_seed(&rng, 10);
	for (int k = 0; k < RANDOM_CASES(5000); k++) {
		struct fair_case c = { .r = { &hes_fair_policies[ETF],
					      30 + hes_rng_below(&rng, 1000), 0, NULL,
					      2 + hes_rng_below(&rng, 2) } };

		for (size_t i = 0; i < c.r.n; i++)
			c.t[i] = backlogged(tx2.power_w[hes_rng_below(&rng, tx2.n)]);
		c.r.phi = hes_fair_phi_fair(c.t, c.r.n) * hes_rng_unit(&rng);
		divide(&c);
		for (size_t i = 0; i < c.r.n; i++)
			for (size_t j = 0; j < c.r.n; j++)
				assert_true(normalised(&c, i, c.slices[i]) -
						    normalised(&c, j, c.slices[j]) <=
					    c.t[i].power_w * (1 + 1e-12));
	}
}

TEST(published_profiles_have_fair_time_at_phi_1)
{
	struct tx2 tx2;

	if (!tx2_load(&tx2))
		skip();
	for (size_t i = 0; i < tx2.n; i++)
		for (size_t k = 0; k < tx2.n; k++)
			for (uint64_t t = 30; t < 36; t++) {
				struct fair_case c = { .r = { &hes_fair_policies[ETF], t, 1, NULL,
							      2 },
						       .t = { backlogged(tx2.power_w[i]),
							      backlogged(tx2.power_w[k]) } };

				divide(&c);
				assert_true(c.slices[0] <= c.slices[1] + 1 &&
					    c.slices[1] <= c.slices[0] + 1);
			}
}

static double system_fairness(const struct hes_fair_policy *p, double a_w, double b_w)
{
	struct fair_case c = { .r = { p, 100000, 0.7, NULL, 2 },
			       .t = { backlogged(a_w), backlogged(b_w) } };
	struct hes_fairness f;

	divide(&c);
	hes_fair_measure(c.t, 2, c.slices, &f);
	return f.system;
}

/* Figure 6: A1 is ResNet50 at 1300 MHz, A2 ResNet50 at rising clocks; phi = 0.7. */
TEST(the_sweep_of_figure_6_gains_where_powers_differ_and_converges_where_not)
{
	double last = 0;
	struct tx2 tx2;

	if (!tx2_load(&tx2))
		skip();
	for (size_t i = 0; i < tx2.n_resnet50; i++) {
		double f[POLICIES], extreme, w = tx2.resnet50_w[i];

		for (size_t p = 0; p < POLICIES; p++)
			f[p] = system_fairness(&hes_fair_policies[p], tx2.top_w, w);
		extreme = fmax(f[TIME], f[ENERGY]);
		print_message("# power 1 to %.2f: F_S time %.3f, energy %.3f, etf %.3f: %.2f times "
			      "the better\n",
			      tx2.top_w / w, f[TIME], f[ENERGY], f[ETF], f[ETF] / extreme);
		assert_true(f[ETF] >= extreme - 1e-4 && f[ETF] >= last - 1e-4);
		last = f[ETF];
		if (i == 0)
			assert_true(f[ETF] >= 1.6 * extreme);
		if (i + 1 == tx2.n_resnet50)
			assert_true(f[TIME] > 0.9999 && f[ENERGY] > 0.9999 && f[ETF] > 0.9999);
	}
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
