/*
 * test_rivals.c - what sets rivals of heshare apart, on two GPUs with the predictor of
 * plan_bench.h.
 */
#include "plan_bench.h"
#include "policy/decide.h"
#include "unit_test.h"

#define BENCH_TEST(test) TEST_ON(struct bench, b, test, plan_bench_setup, plan_bench_teardown)

/* Above idle, "half" draws 10 W on the T4 and 6 W on the A100, whose idle power is 45 W higher. */
BENCH_TEST(pwr_goes_by_the_power_that_a_job_adds_to_idle)
{
	struct hes_plan plan;

	stand_in.power_by_use = true;
	add_job(b, "half", 1000, 1000);
	b->request.prefer = "";
	make_problem(b);
	assert_int_equal(hes_plan_init(&plan, b->p.k), 0);
	assert_int_equal(hes_decide_pwr(&b->p, &plan, NULL), 0);
	assert_true(plan.queues[0].n == 0 && plan.queues[1].n == 1);
	hes_plan_finish(&plan);
}

/* A fifth of the T4 leaves 80 % that half of the jobs cannot use, a tenth of the A100 leaves 90 %.
 */
BENCH_TEST(pwr_shared_leaves_least_that_is_of_no_use)
{
	struct hes_plan plan;

	b->request.prefer = "shared";
	add_job(b, "light", 1000, 1000);
	add_job(b, "full", 1000, 1000);
	make_problem(b);
	assert_int_equal(hes_plan_init(&plan, b->p.k), 0);
	assert_int_equal(hes_decide_pwr(&b->p, &plan, NULL), 0);
	assert_true(plan.queues[0].n == 1 && plan.queues[0].batches[0].jobs[0].job == 0);
	assert_true(plan.queues[0].batches[0].jobs[0].sm_pct == 20);
	assert_true(plan.queues[1].n == 1 && plan.queues[1].batches[0].jobs[0].sm_pct == 100);
	hes_plan_finish(&plan);
}

/* Five of a fifth fill the T4: all at once on two GPUs, where one by one each would wait. */
BENCH_TEST(pwr_shared_starts_a_job_where_there_is_room)
{
	struct hes_plan plan;

	b->request.prefer = "shared";
	for (int i = 0; i < 6; i++)
		add_job(b, "light", 1000, 1000);
	make_problem(b);
	assert_int_equal(hes_plan_init(&plan, b->p.k), 0);
	assert_int_equal(hes_decide_pwr(&b->p, &plan, NULL), 0);
	for (size_t g = 0; g < 2; g++)
		for (size_t i = 0; i < plan.queues[g].n; i++)
			assert_true(plan.queues[g].batches[i].start_us == 0);
	hes_plan_finish(&plan);
}

/* Half of 40 W: idle power and 200 mW a percent times the clock squared. */
BENCH_TEST(batchdvfs_takes_the_highest_clock_under_its_cap)
{
	uint32_t clock_mhz;
	struct hes_plan plan;

	b->catalogue.types[0].power_limit_mw = 40000;
	b->request.prefer = "eft";
	add_job(b, "full", 1000, 1000);
	make_problem(b);
	for (size_t g = 0; g < 2; g++) {
		const struct hes_gpu_type *t = b->p.types[b->p.gpus[g].type];
		const struct hes_group alone = { 1, { { 0, 100 } } };

		assert_int_equal(hes_plan_init(&plan, b->p.k), 0);
		b->p.gpus[1 - g].wait_us = 1e12; /* so that the job goes to the other one */
		b->p.gpus[g].wait_us = 0;
		assert_int_equal(hes_decide_batchdvfs(&b->p, &plan, NULL), 0);
		assert_int_equal(plan.queues[g].n, 1);
		clock_mhz = plan.queues[g].batches[0].clock_mhz;
		for (size_t i = 0; i < t->n_clocks; i++) {
			struct hes_group_cost c;

			hes_group_run(&b->p, b->p.gpus[g].type, t->clocks_mhz[i], &alone, &c);
			assert_int_equal(t->clocks_mhz[i] <= clock_mhz,
					 c.energy_mj / c.last_us * 1e6 <= 0.5 * t->power_limit_mw);
		}
		hes_plan_finish(&plan);
	}
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
