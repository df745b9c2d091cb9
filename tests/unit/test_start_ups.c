/*
 * test_start_ups.c - jobs that start before they work, under a predictor simple enough to compute
 * by hand (plan_bench.h).
 */
#include <math.h>

#include "plan/batch/sharing.h"
#include "plan/timeline.h"
#include "plan_bench.h"
#include "unit_test.h"

#define BENCH_TEST(test) TEST_ON(struct bench, b, test, plan_bench_setup, plan_bench_teardown)

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b) + 1e-9;
}

/*
 * "light" starts for 10 s and works for 10 s; "half" works on the same GPU. In the first case
 * "half" has ended by then. In the second, 5 s of its 15 s are left: 5.25 s for both, of which the
 * other one does its work at 1.1 ms an iteration.
 */
BENCH_TEST(in_its_start_up_a_job_holds_its_place_and_puts_no_load)
{
	static const struct {
		uint64_t iterations;
		double half_s, light_s, energy_mj;
	} is[] = { { 5000, 5, 20, 5 * 20000 + 5 * 10000 + 10 * 20000 },
		   { 15000, 15.25, 15.25 + (10 - 5.25 / 1.1),
		     10 * 20000 + 5.25 * 30000 + (10 - 5.25 / 1.1) * 20000 } };
	const struct hes_group g = { 2, { { 0, 50 }, { 1, 50 } } };
	const struct hes_timeline_item items[] = { { 0, 50, 11 }, { 1, 50, 11 }, { 2, 50, 11 } };
	struct hes_timeline_times times[3];
	struct hes_timeline_cost open;
	struct hes_group_cost c;

	set_start(b, "light", 10);
	add_job(b, "light", 10000, 1000);
	add_job(b, "half", 0, 1000);
	add_job(b, "full", 1, 1000);
	for (size_t i = 0; i < N(is); i++) {
		b->v[1].iterations = is[i].iterations;
		make_problem(b);
		assert_true(near(b->p.cost[0].time_us, 20e6));
		assert_true(near(b->p.cost[0].energy_mj, 10 * 10000 + 10 * 30000));
		hes_group_run(&b->p, 0, 1590, &g, &c);
		assert_true(near(c.end_us[0], is[i].light_s * 1e6));
		assert_true(near(c.end_us[1], is[i].half_s * 1e6));
		assert_true(near(c.energy_mj, is[i].energy_mj));
		hes_timeline_run(&b->p, b->p.rates, 0, items, 2, &open, times);
		assert_true(near(times[0].end_us, c.end_us[0]));
		assert_true(near(times[1].end_us, c.end_us[1]));
		assert_true(near(open.energy_mj, c.energy_mj));
		assert_true(near(times[0].energy_mj + times[1].energy_mj, c.energy_mj));
		/* A third has no share before the first of them ends. */
		hes_timeline_run(&b->p, b->p.rates, 0, items, 3, &open, times);
		assert_true(near(times[2].start_us, is[i].half_s * 1e6));
		hes_problem_finish(&b->p);
	}
	make_problem(b);
}

BENCH_TEST(start_ups_overlap)
{
	const struct hes_group g = { 2, { { 0, 50 }, { 1, 50 } } };
	struct hes_group_cost c;

	set_start(b, "light", 10);
	add_job(b, "light", 10000, 1000);
	add_job(b, "light", 10000, 1000);
	make_problem(b);
	hes_group_run(&b->p, 0, 1590, &g, &c);
	assert_true(near(c.end_us[0], 10e6 + 10.5e6) && c.end_us[0] == c.end_us[1]);
	assert_true(near(c.energy_mj, 10 * 10000 + 10.5 * 30000));
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
