/* test_auction.c - an auction's assignment and bound against exact solutions. */
#include <math.h>

#include "base/rng.h"
#include "auction.h"
#include "exact.h"
#include "near.h"
#include "unit_test.h"

#define JOBS 120
#define GPUS 12

struct drawn {
	struct hes_assign a;
	struct hes_cost cost[JOBS * GPUS];
	struct hes_assign_gpu gpus[GPUS];
};

/* Every GPU a type of its own but two that are one; some busy, some jobs that cannot run on some.
 */
static void draw(struct drawn *d, size_t n, size_t k, uint64_t seed)
{
	struct hes_rng r;

	hes_rng_seed(&r, seed);
	for (size_t i = 0; i < n; i++) {
		double work = 1e5 + hes_rng_exponential(&r, 1e6);

		for (size_t t = 0; t < k; t++) {
			struct hes_cost *c = &d->cost[t * n + i];

			c->time_us = work * (0.3 + hes_rng_unit(&r));
			c->energy_mj = work * (0.3 + hes_rng_unit(&r)) * 60;
			if (t && hes_rng_below(&r, 20) == 0)
				*c = (struct hes_cost){ INFINITY, INFINITY };
		}
	}
	for (uint32_t g = 0; g < k; g++)
		d->gpus[g] = (struct hes_assign_gpu){ g == k - 1 ? 0 : g, g % 3 ? 0 : 2e5 };
	assert_int_equal(hes_assign_init(&d->a, n, k, k, d->cost, d->gpus), 0);
}

static double cost_of(const struct hes_assign *a, const struct hes_weights *w,
		      const uint32_t *gpu_of)
{
	struct hes_assignment *x = hes_assignments_new(a, 1);
	double cost;

	assert_non_null(x);
	for (size_t i = 0; i < a->n; i++) {
		assert_true(isfinite(hes_assign_cost(a, i, gpu_of[i])->time_us));
		x->gpu_of[i] = gpu_of[i];
	}
	hes_assign_evaluate(a, x);
	cost = w->energy * x->at.energy_mj + w->jct * x->at.jct_us;
	free(x);
	return cost;
}

TEST(at_every_weight_the_optimum_lies_between_bound_and_cost)
{
	const struct hes_weights weights[] = {
		{ 1, 1e-3 }, { 1, 1 }, { 1, 30 }, { 1, 1000 }, { 1e-6, 1 }
	};
	struct drawn d;

	draw(&d, JOBS, GPUS, 1);
	for (size_t i = 0; i < sizeof(weights) / sizeof(weights[0]); i++) {
		struct hes_auction *x = hes_auction_new(&d.a);
		struct hes_lap *lap = hes_lap_new(&d.a);
		uint32_t gpu_of[JOBS];
		double least, bound, before = INFINITY;
		uint64_t bids;

		assert_true(x && lap);
		assert_int_equal(hes_lap_solve(lap, &weights[i], gpu_of, &least), 0);
		for (double step = 0.1; step > 1e-4; step /= 10) {
			double cost;

			assert_int_equal(
				hes_auction_solve(x, &weights[i], step, gpu_of, &bound, &bids), 0);
			cost = cost_of(&d.a, &weights[i], gpu_of);
			assert_true(bound <= least * (1 + 1e-9) && cost >= least * (1 - 1e-9));
			assert_true(cost - bound < before && bids >= JOBS);
			before = cost - bound;
			/* No more than a step a job, in units that are less than what a job costs.
			 */
			assert_true(cost - bound <= 1.001 * step * least);
		}
		hes_lap_free(lap);
		hes_auction_free(x);
	}
	hes_assign_finish(&d.a);
}

TEST(one_gpu_takes_all_jobs)
{
	struct hes_weights w = { 1, 1 };
	uint32_t gpu_of[5] = { 7, 7, 7, 7, 7 };
	struct hes_auction *x;
	struct drawn d;
	double bound;
	uint64_t bids;

	draw(&d, 5, 1, 4);
	x = hes_auction_new(&d.a);
	assert_non_null(x);
	assert_int_equal(hes_auction_solve(x, &w, 0.01, gpu_of, &bound, &bids), 0);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(gpu_of[i], 0);
	assert_true(bound > 0 && bound <= cost_of(&d.a, &w, gpu_of));
	hes_auction_free(x);
	hes_assign_finish(&d.a);
}

/* Prices are floats: a step of 1e-9 added to one of about 1 changes nothing, and two equal jobs
 * outbid each other for ever. */
TEST(equal_jobs_part_although_a_price_swallows_the_step)
{
	const struct hes_weights w = { 1, 1 };
	const struct hes_cost cost[] = { { 6e7, 1e6 }, { 6e7, 1e6 } };
	const struct hes_assign_gpu gpu = { 0, 0 };
	struct hes_auction *x;
	struct hes_assign a;
	uint32_t gpu_of[2];
	double bound;
	uint64_t bids;

	assert_int_equal(hes_assign_init(&a, 2, 1, 1, cost, &gpu), 0);
	x = hes_auction_new(&a);
	assert_non_null(x);
	assert_int_equal(hes_auction_solve(x, &w, 1e-9, gpu_of, &bound, &bids), 0);
	assert_true(bids < 100 && bound <= cost_of(&a, &w, gpu_of));
	assert_true(bound > cost_of(&a, &w, gpu_of) * (1 - 1e-5));
	hes_auction_free(x);
	hes_assign_finish(&a);
}

TEST(the_front_does_not_depend_on_threads_and_its_half_planes_hold)
{
	struct hes_near_options o = hes_near_defaults;
	const struct hes_exact_options complete = { 0, 0 };
	struct hes_exact_front one, many, exact;
	struct drawn d;

	draw(&d, JOBS, GPUS, 2);
	assert_int_equal(hes_near_run(&d.a, &o, &one), 0);
	o.threads = 3;
	assert_int_equal(hes_near_run(&d.a, &o, &many), 0);
	assert_int_equal(hes_exact_run(&d.a, &complete, &exact), 0);
	assert_true(one.front.n == many.front.n && one.front.n > 5);
	for (size_t i = 0; i < one.front.n; i++)
		assert_memory_equal(one.front.v[i].gpu_of, many.front.v[i].gpu_of,
				    JOBS * sizeof(uint32_t));
	for (size_t h = 0; h < one.n_halfplanes; h++)
		for (size_t i = 0; i < exact.front.n; i++) {
			const struct hes_halfplane *p = &one.halfplanes[h];
			const struct hes_objectives *at = &exact.front.v[i].at;

			assert_true(p->w.energy * at->energy_mj + p->w.jct * at->jct_us >=
				    p->least * (1 - 1e-9));
		}
	free(one.front.v);
	free(many.front.v);
	free(exact.front.v);
	free(one.halfplanes);
	free(many.halfplanes);
	free(exact.halfplanes);
	hes_assign_finish(&d.a);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
