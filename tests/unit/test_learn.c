/*
 * test_learn.c - decisions while jobs work: the clock of a job alone, sets against turns, what is
 * refused, and the account.
 */
#include <math.h>

#include "base/rng.h"
#include "learn/learn.h"
#include "unit_test.h"

#define assert_near(a, b, by) assert_true(fabs((a) - (b)) <= (by))

/* A job of which a part of the time scales with the clock; power grows with its cube. */
struct toy {
	double scales, idle_w, busy_w;
};

static struct hes_gpu_type type_of(size_t n)
{
	struct hes_gpu_type g = { .clock_default_mhz = (uint32_t)(100 * n), .n_clocks = n };

	for (size_t i = 0; i < n; i++)
		g.clocks_mhz[i] = (uint32_t)(100 * (i + 1));
	return g;
}

static struct learn_window toy_window(const struct toy *t, const struct hes_gpu_type *g,
				      uint32_t clock_mhz)
{
	const double part = (double)clock_mhz / g->clock_default_mhz,
		     time = t->scales / part + 1 - t->scales;

	return (struct learn_window){
		.clock_mhz = clock_mhz,
		.seconds = 5,
		.joules = 5 * (t->idle_w + t->busy_w * part * part * part),
		.n = 1,
		.members = { { .sm_pct = 100, .rate = 10 / time } },
	};
}

static double toy_score(const struct toy *t, const struct hes_gpu_type *g, uint32_t clock_mhz,
			const struct learn_preference *p)
{
	const struct learn_window w = toy_window(t, g, clock_mhz);
	const double rate = w.members[0].rate;

	if (10 / rate > p->slowest * (1 + 1e-9))
		return INFINITY;
	return -p->time * log(rate) + p->energy * log(w.joules / w.seconds / rate);
}

/* @return the clock at which the search ends, after at most LEARN_CLOCK_TRIES windows */
static uint32_t search(const struct toy *t, const struct hes_gpu_type *g,
		       const struct learn_preference *p, uint32_t expected_mhz)
{
	struct learn_clocks c = { .expected_mhz = expected_mhz };
	uint32_t mhz, windows = 0;
	bool over;

	while (mhz = learn_clocks_next(&c, g, p, &over), !over) {
		const struct learn_window w = toy_window(t, g, mhz);

		assert_true(++windows <= LEARN_CLOCK_TRIES);
		assert_true(windows > 1 || mhz == g->clock_default_mhz);
		learn_clocks_saw(&c, &w);
	}
	return mhz;
}

TEST(a_search_near_the_best_clock_ends_at_the_best_clock)
{
	static const char *const prefer[] = { "balanced", "energy", "jct", "fleet" };
	struct hes_rng rng;

	hes_rng_seed(&rng, 1);
	for (int k = 0; k < 2000; k++) {
		const struct hes_gpu_type g = type_of(2 + hes_rng_below(&rng, 11));
		const struct learn_preference *p = learn_preference(prefer[k % 4]);
		const struct toy t = { hes_rng_unit(&rng), 20, 50 + 200 * hes_rng_unit(&rng) };
		size_t best = 0, from;

		for (size_t i = 1; i < g.n_clocks; i++)
			if (toy_score(&t, &g, g.clocks_mhz[i], p) <
			    toy_score(&t, &g, g.clocks_mhz[best], p))
				best = i;
		from = best + hes_rng_below(&rng, 3);
		from = from > 0 ? from - 1 : 0;
		from = from < g.n_clocks ? from : g.n_clocks - 1;
		assert_int_equal(search(&t, &g, p, g.clocks_mhz[from]), g.clocks_mhz[best]);
	}
}

TEST(a_search_ends_no_slower_than_the_preference_allows)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 2);
	for (int k = 0; k < 2000; k++) {
		const struct hes_gpu_type g = type_of(2 + hes_rng_below(&rng, 11));
		const struct learn_preference *p = learn_preference(k % 2 ? "energy" : "jct");
		const struct toy t = { hes_rng_unit(&rng), 5, 250 };
		const uint32_t expected = (uint32_t)hes_rng_below(&rng, g.clock_default_mhz),
			       mhz = search(&t, &g, p, expected);

		assert_true(10 / toy_window(&t, &g, mhz).members[0].rate <= p->slowest + 1e-9);
	}
}

TEST(where_clocks_cannot_be_set_nothing_is_tried)
{
	const struct hes_gpu_type g = { .clock_default_mhz = 1500 };
	struct learn_clocks c = { .expected_mhz = 900 };
	bool over = false;

	assert_int_equal(learn_clocks_next(&c, &g, learn_preference("energy"), &over), 1500);
	assert_true(over);
}

/* A window of members that each reach a part of their speed alone. */
static struct learn_window set_window(const double *parts, uint32_t n, struct learn_alone *alone,
				      double power_w)
{
	struct learn_window w = { .seconds = 10, .joules = 10 * power_w, .n = n };

	for (uint32_t i = 0; i < n; i++) {
		alone[i] = (struct learn_alone){ .rate = 3 + i, .power_w = 100 };
		w.members[i] = (struct learn_member){ .kind = i, .rate = parts[i] * (3 + i) };
	}
	return w;
}

TEST(a_set_is_better_than_turns_when_its_members_do_more_together)
{
	const struct learn_preference *p = learn_preference("balanced");
	struct learn_alone alone[2];
	struct learn_gain g;
	struct learn_window w = set_window((double[]){ .8, .6 }, 2, alone, 120);

	assert_true(learn_set_gain(&w, alone, &g));
	assert_near(g.time, 1 / 1.4, 1e-9);
	assert_near(g.energy, 120 / 140., 1e-9);
	assert_int_equal(learn_set_judge(&g, p, 20), LEARN_KEEP);

	/* Four times the slowdown. */
	w = set_window((double[]){ .2, .15 }, 2, alone, 120);
	assert_true(learn_set_gain(&w, alone, &g));
	assert_int_equal(learn_set_judge(&g, p, 20), LEARN_SEPARATE);
	assert_near(learn_cost_of(&w, alone).seconds, 10 * (1 - .35), 1e-9);
	assert_near(learn_cost_of(&w, alone).joules, 1200 - .35 * 1000, 1e-9);
}

/* Each has half of the SMs as long as it runs, also in its turn. */
TEST(a_set_that_is_worse_than_turns_with_the_whole_gpu_is_better_than_turns_with_shares)
{
	const struct learn_preference *p = learn_preference("balanced");
	struct learn_alone alone[2];
	struct learn_gain g;
	struct learn_window w = set_window((double[]){ .45, .45 }, 2, alone, 100);

	assert_true(learn_set_gain(&w, alone, &g));
	assert_int_equal(learn_set_judge(&g, p, 20), LEARN_SEPARATE);
	for (int i = 0; i < 2; i++)
		alone[i] = learn_alone_with(&alone[i], &(struct learn_share){ 1.6, .8 });
	assert_near(alone[1].rate, 4 / 1.6, 1e-9);
	assert_near(alone[1].power_w, 80, 1e-9);
	assert_true(alone[1].rate_se > 0);
	assert_true(learn_set_gain(&w, alone, &g));
	assert_near(g.time, 1 / (.9 * 1.6), 1e-9);
	assert_int_equal(learn_set_judge(&g, p, 20), LEARN_KEEP);
}

TEST(a_set_within_its_error_stays_unclear)
{
	struct learn_alone alone[2];
	struct learn_gain g;
	struct learn_window w = set_window((double[]){ .55, .5 }, 2, alone, 105);

	w.members[0].rate_se = .1;
	assert_true(learn_set_gain(&w, alone, &g));
	assert_int_equal(learn_set_judge(&g, learn_preference("jct"), 20), LEARN_UNCLEAR);
	w.members[0].rate_se = .01;
	assert_true(learn_set_gain(&w, alone, &g));
	assert_int_equal(learn_set_judge(&g, learn_preference("jct"), 20), LEARN_KEEP);
}

TEST(a_set_with_a_job_that_shows_no_rate_is_not_judged)
{
	struct learn_alone alone[2];
	struct learn_gain g = { .time = 7 };
	struct learn_window w = set_window((double[]){ .8, NAN }, 2, alone, 120);

	assert_false(learn_set_gain(&w, alone, &g));
	w = set_window((double[]){ .8, .6 }, 2, alone, 120);
	alone[1].rate = 0;
	assert_false(learn_set_gain(&w, alone, &g));
	assert_near(g.time, 7, 0);
	/* Where all stand still, they do worse than in turns: that was once no verdict at all. */
	w = set_window((double[]){ 0, 0 }, 2, alone, 120);
	assert_true(learn_set_gain(&w, alone, &g));
	assert_int_equal(learn_set_judge(&g, learn_preference("balanced"), 120), LEARN_SEPARATE);
	assert_true(isfinite(g.time) && isnan(g.energy));
	w = set_window((double[]){ .8, .6 }, 2, alone, 120);
	alone[1].rate = 0;
	g.time = 7;
	/* Held members count for nothing. */
	w.members[1].held = true;
	assert_true(learn_set_gain(&w, alone, &g));
	assert_near(g.time, 1 / .8, 1e-9);
}

TEST(a_refused_pair_is_refused_in_every_order_and_in_larger_sets)
{
	struct learn_refusals r = { 0 };

	assert_int_equal(learn_refuse(&r, 1, (uint32_t[]){ 7, 3 }, 2), 0);
	assert_int_equal(learn_refuse(&r, 1, (uint32_t[]){ 3, 7 }, 2), 0);
	assert_int_equal(r.n, 1);
	assert_true(learn_is_refused(&r, 1, (uint32_t[]){ 3, 7 }, 2));
	assert_true(learn_is_refused(&r, 1, (uint32_t[]){ 7, 5, 3 }, 3));
	assert_false(learn_is_refused(&r, 0, (uint32_t[]){ 3, 7 }, 2));
	assert_false(learn_is_refused(&r, 1, (uint32_t[]){ 3, 3 }, 2));
	assert_int_equal(learn_refuse(&r, 1, (uint32_t[]){ 4, 4 }, 2), 0);
	assert_false(learn_is_refused(&r, 1, (uint32_t[]){ 3, 4 }, 2));
	assert_true(learn_is_refused(&r, 1, (uint32_t[]){ 4, 3, 4 }, 3));
	/* Of a job that would join only sets with its kind count. */
	assert_true(learn_join_is_refused(&r, 1, (uint32_t[]){ 3, 5, 7 }, 3));
	assert_false(learn_join_is_refused(&r, 1, (uint32_t[]){ 5, 3, 7 }, 3));
	learn_refusals_finish(&r);
}

TEST(a_set_is_judged_after_a_while_and_stays_when_it_is_unclear_for_long)
{
	const struct learn_preference *p = learn_preference("jct");
	const struct learn_gain worse = { 1.5, 1, .01 }, near = { 1.01, 1, .01 };

	assert_int_equal(learn_set_judge(&worse, p, 5), LEARN_UNCLEAR);
	assert_int_equal(learn_set_judge(&worse, p, 10), LEARN_SEPARATE);
	assert_int_equal(learn_set_judge(&near, p, 10), LEARN_UNCLEAR);
	assert_int_equal(learn_set_judge(&near, p, 100), LEARN_KEEP);
}

TEST(the_figures_alone_are_those_of_the_nearest_tried_clock)
{
	struct learn_clocks c = { 0 };
	struct learn_alone alone = { .rate = 7 };

	assert_false(learn_clocks_alone(&c, 900, .1, &alone));
	assert_near(alone.rate, 7, 0);
	c = (struct learn_clocks){ .tries = { { 1500, 10, 2000, 100 }, { 800, 20, 2000, 120 } },
				   .n = 2 };
	assert_true(learn_clocks_alone(&c, 900, .1, &alone));
	assert_near(alone.rate, 6, 1e-9);
	assert_near(alone.power_w, 100, 1e-9);
	assert_near(alone.rate_se, .1, 0);
	assert_true(learn_clocks_alone(&c, 1400, .1, &alone));
	assert_near(alone.rate, 10, 1e-9);
}

TEST(a_set_gets_the_lowest_clock_that_each_member_tried_and_none_is_worse_at)
{
	const struct hes_gpu_type g = type_of(5);
	const struct learn_preference *p = learn_preference("energy");
	/* Best at 300: least joules, no slower than twice. */
	const struct learn_clocks a = { .tries = { { 500, 10, 2000, 100 },
						   { 300, 10, 900, 70 },
						   { 200, 10, 900, 60 } },
					.n = 3 },
				  b = { .tries = { { 500, 10, 2000, 100 },
						   { 400, 10, 1500, 95 },
						   { 200, 10, 600, 60 } },
					.n = 3 },
				  none = { 0 };
	const struct learn_clocks *v[] = { &a, &a };

	assert_int_equal(learn_set_clock(v, 2, &g, p), 300);
	v[1] = &b; /* both tried 200, below what is best for the first, and the default */
	assert_int_equal(learn_set_clock(v, 2, &g, p), 500);
	v[1] = &none;
	assert_int_equal(learn_set_clock(v, 2, &g, p), 500);
}

TEST(the_last_member_that_helps_is_held)
{
	const uint32_t kinds[] = { 1, 2, 3 }, all = 7;
	struct learn_refusals r = { 0 };

	assert_int_equal(learn_set_to_hold(&r, 0, kinds, 3, 0, all), 3);
	learn_refuse(&r, 0, (uint32_t[]){ 1, 2 }, 2);
	/* The third is the last one, but without it the pair would stay. */
	assert_int_equal(learn_set_to_hold(&r, 0, kinds, 3, 0, all), 1);
	assert_int_equal(learn_set_to_hold(&r, 0, kinds, 3, 0, 1 | 4), 0);
	assert_int_equal(learn_set_to_hold(&r, 0, kinds, 3, 0, 4), 2);
	assert_int_equal(learn_set_to_hold(&r, 0, kinds, 3, 4, 4), 3);
	assert_int_equal(learn_set_to_hold(&r, 0, kinds, 3, 2, all), 3);
	/* On another type nothing is refused. */
	assert_int_equal(learn_set_to_hold(&r, 1, kinds, 3, 0, all), 3);
	learn_refusals_finish(&r);
}

TEST(experiments_cost_at_most_their_part_of_the_work)
{
	struct learn_account a = { .explore_pct = 2, .start_s = 600 };

	/* What comes pays for the first one. */
	assert_true(learn_may(&a, 12));
	assert_false(learn_may(&a, 12.1));
	a.worked_s = 400;
	assert_true(learn_may(&a, 20));
	learn_pay(&a, LEARN_OF_SET, &(struct learn_cost){ 15, 300, 40 });
	learn_pay(&a, LEARN_OF_CLOCK, &(struct learn_cost){ 1, NAN, 2 });
	assert_true(learn_may(&a, 4));
	assert_false(learn_may(&a, 4.1));
	assert_near(learn_paid(&a).joules, 300, 0);
	assert_near(learn_paid(&a).iterations, 42, 0);
	/* What gained costs nothing, and pays for nothing. */
	learn_pay(&a, LEARN_OF_SET, &(struct learn_cost){ -10, -100, 5 });
	assert_true(learn_may(&a, 4));
	assert_false(learn_may(&a, 4.1));
	/* What goes on elsewhere may take the rest. */
	a.going_s = 3;
	assert_true(learn_may(&a, 1));
	assert_false(learn_may(&a, 1.1));
	a = (struct learn_account){ .start_s = 600 };
	assert_false(learn_may(&a, .1));
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
