/*
 * test_bound.c - lower bounds against enumeration and the joint search.
 * The predictor is plan_bench.h's.
 */
#include <math.h>

#include "bound.h"
#include "enumeration.h"
#include "plan/joint/joint_search.h"
#include "plan_bench.h"
#include "unit_test.h"

#define BENCH_TEST(test) TEST_ON(struct bench, b, test, bench_setup, plan_bench_teardown)

static int bench_setup(void **state)
{
	const int rc = plan_bench_setup(state);

	stand_in.power_by_use = true;
	return rc;
}

static struct hes_joint *search(const struct hes_problem *p, const struct hes_joint_options *o)
{
	struct hes_joint *j;

	assert_int_equal(hes_joint_search(p, o, &j), 0);
	return j;
}

BENCH_TEST(the_bound_is_below_every_plan_and_near_one_that_is_best)
{
	struct hes_joint *j;
	struct hes_bounds least;

	make_six_jobs(b);
	j = search(&b->p, &(struct hes_joint_options){ .seed = 1, .evaluations = 12000 });
	for (size_t i = 0; i < hes_joint_front(j)->n; i += 1 + hes_joint_front(j)->n / 2) {
		const struct hes_objectives *at = &hes_joint_front(j)->v[i].at;

		assert_int_equal(hes_bound_joint(&b->p, j, i, &least), 0);
		assert_true(least.least_mj > 0.6 * at->energy_mj);
		assert_true(least.least_jct_us > 0.3 * at->jct_us);
		/* Nobody who is at least as quick takes less; nobody who takes no more is quicker.
		 */
		for (size_t k = i; k < hes_joint_front(j)->n; k++)
			assert_true(hes_joint_front(j)->v[k].at.energy_mj >= least.least_mj);
		for (size_t k = 0; k <= i; k++)
			assert_true(hes_joint_front(j)->v[k].at.jct_us >= least.least_jct_us);
	}
	hes_joint_free(j);
}

/* Least energy among all that end no later in sum. */
static double least_energy(const struct hes_pareto *all, double jct_us)
{
	double least_mj = INFINITY;

	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].at.jct_us <= jct_us * (1 + 1e-12))
			least_mj = fmin(least_mj, all->v[i].at.energy_mj);
	return least_mj;
}

/* How much of the least energy the bound proves at a sum of completion times; what is known of a
 * plan is a guess. */
static double proven(const struct hes_problem *p, const struct hes_pareto *all, double jct_us)
{
	const double least_mj = least_energy(all, jct_us);
	struct hes_timeline_times known[MAX_TEST_JOBS];
	struct hes_bounds bound;

	for (size_t i = 0; i < p->n; i++)
		known[i] = (struct hes_timeline_times){ .end_us = jct_us / (double)p->n *
								  (0.5 + 0.2 * (double)i),
							.energy_mj = least_mj / (double)p->n };
	assert_int_equal(
		hes_bound(p, NULL, known, &(struct hes_objectives){ least_mj, jct_us }, &bound), 0);
	if (bound.least_mj > least_mj * (1 + 1e-9))
		fail_msg("%g mJ, but %g are enough for %g us", bound.least_mj, least_mj, jct_us);
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].at.energy_mj <= least_mj &&
		    all->v[i].at.jct_us < bound.least_jct_us * (1 - 1e-9))
			fail_msg("%g us, but %g mJ are enough for %g", bound.least_jct_us, least_mj,
				 all->v[i].at.jct_us);
	return bound.least_mj / least_mj;
}

/* Every plan of batches, and the open queues that a search found. */
BENCH_TEST(at_no_completion_time_is_the_bound_above_the_least_energy)
{
	struct hes_pareto all = { 0 };
	struct hes_joint *j;
	double mean = 0;

	make_six_jobs(b);
	enumerate_batches(&b->p, &all);
	j = search(&b->p, &(struct hes_joint_options){ .seed = 1 });
	for (size_t i = 0; i < hes_joint_front(j)->n; i++)
		hes_pareto_insert(&all, &hes_joint_front(j)->v[i].at, 0);
	for (uint32_t i = 0; i < 5; i++) {
		const double quickest = all.v[all.n - 1].at.jct_us, slowest = all.v[0].at.jct_us;

		mean += proven(&b->p, &all, quickest + (slowest - quickest) * i / 4) / 5;
	}
	if (!(mean >= 0.7))
		fail_msg("%.3f of the least energy on average", mean);
	hes_joint_free(j);
	hes_pareto_free(&all);
}

/* Two GPUs of a type, two short jobs, then a long one: in pieces on both GPUs at once it would end
 * sooner. */
BENCH_TEST(the_bound_knows_that_a_job_runs_in_one_place_at_a_time)
{
	static const double ends_us[] = { 2e5, 2e5, 18e5 };
	struct hes_timeline_times known[N(ends_us)];
	struct hes_bounds bound;

	for (uint32_t i = 0; i < N(ends_us); i++)
		add_job(b, "full", i < 2 ? 1000 : 8000, 1000);
	make_problem(b);
	b->p.gpus[0].type = b->p.gpus[1].type;
	for (uint32_t i = 0; i < N(ends_us); i++)
		known[i] =
			(struct hes_timeline_times){ .start_us = i < 2 ? 0 : 2e5,
						     .end_us = ends_us[i],
						     .energy_mj =
							     b->p.cost[1 * b->p.n + i].energy_mj };
	assert_int_equal(
		hes_bound(&b->p, NULL, known, &(struct hes_objectives){ 150000, 22e5 }, &bound), 0);
	assert_true(bound.least_jct_us > 0.97 * 22e5 && bound.least_jct_us <= 22e5);
	assert_true(bound.least_mj > 0.99 * 150000 && bound.least_mj <= 150000);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
