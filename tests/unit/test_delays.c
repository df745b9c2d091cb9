/*
 * test_delays.c - the GPU of least delay, found by bounds, against walking every queue.
 */
#include <math.h>

#include "base/rng.h"
#include "plan/assign/delays.h"
#include "unit_test.h"

struct world {
	struct hes_cost *cost;
	struct hes_assign_gpu *gpus;
	struct hes_assign a;
	struct hes_delays delays;
	struct hes_queues *x;
	double *rows;
	struct hes_rng r;
};

/* A tenth of the jobs cannot run on some type; run times come in steps, so that many are equal. */
static void make(struct world *w, size_t n, size_t k, size_t types, uint64_t seed)
{
	hes_rng_seed(&w->r, seed);
	w->cost = calloc(types * n, sizeof(*w->cost));
	w->gpus = calloc(k, sizeof(*w->gpus));
	assert_true(w->cost && w->gpus);
	for (size_t i = 0; i < types * n; i++) {
		bool runs = i < n || hes_rng_unit(&w->r) > 0.1;
		double time_us = 1e5 * ceil(hes_rng_exponential(&w->r, 10));

		w->cost[i] = runs ? (struct hes_cost){ time_us, time_us * 0.2 }
				  : (struct hes_cost){ INFINITY, INFINITY };
	}
	for (size_t g = 0; g < k; g++)
		w->gpus[g] = (struct hes_assign_gpu){ (uint32_t)(g % types),
						      g % 3 ? 0 : 3e5 * hes_rng_unit(&w->r) };
	assert_int_equal(hes_assign_init(&w->a, n, k, types, w->cost, w->gpus), 0);
	assert_int_equal(hes_delays_init(&w->delays, &w->a), 0);
	w->x = aligned_alloc(64, hes_queues_size(&w->a));
	w->rows = calloc(hes_delays_rows(&w->a), sizeof(*w->rows));
	assert_true(w->x && w->rows);
	memset(w->x, 0, hes_queues_size(&w->a));
	hes_queues_build(&w->a, w->x); /* all jobs on the first GPU, which runs all */
	hes_delays_fill(&w->delays, w->x, w->rows);
}

static void unmake(struct world *w)
{
	hes_delays_finish(&w->delays);
	hes_assign_finish(&w->a);
	free(w->cost);
	free(w->gpus);
	free(w->x);
	free(w->rows);
}

static double least_by_walking(const struct world *w, uint32_t job)
{
	double least_us = INFINITY;

	for (uint32_t g = 0; g < w->a.k; g++)
		if (isfinite(hes_assign_cost(&w->a, job, g)->time_us))
			least_us = fmin(least_us, hes_queues_delay_us(&w->a, w->x, job, g));
	return least_us;
}

/* A random job to a random GPU that can run it. */
static void move_at_random(struct world *w)
{
	uint32_t job = (uint32_t)hes_rng_below(&w->r, w->a.n),
		 gpu = (uint32_t)hes_rng_below(&w->r, w->a.k);
	const uint32_t from = hes_queues_gpus(&w->a, w->x)[job];

	if (!isfinite(hes_assign_cost(&w->a, job, gpu)->time_us) || from == gpu)
		return;
	hes_queues_move(&w->a, w->x, job, gpu);
	hes_delays_moved(&w->delays, w->rows, job, from, gpu);
}

static const size_t shapes[][3] = {
	{ 60, 8, 3 }, { 40, 40, 40 }, { 300, 2, 2 }, { 5, 9, 2 }, { 1, 1, 1 }
};

TEST(the_gpu_found_has_the_least_delay)
{
	for (size_t s = 0; s < N(shapes); s++) {
		struct world w;

		make(&w, shapes[s][0], shapes[s][1], shapes[s][2], s + 1);
		for (int i = 0; i < 400; i++) {
			uint32_t job = (uint32_t)hes_rng_below(&w.r, w.a.n);
			uint32_t found = hes_delays_least(&w.delays, w.x, w.rows, job);

			assert_true(isfinite(hes_assign_cost(&w.a, job, found)->time_us));
			assert_true(hes_queues_delay_us(&w.a, w.x, job, found) ==
				    least_by_walking(&w, job));
			move_at_random(&w);
		}
		unmake(&w);
	}
}

/* Beyond the last knot the chord would lie above the sum and exclude queues that are better. */
TEST(every_run_time_lies_between_two_knots)
{
	for (size_t s = 0; s < N(shapes); s++) {
		struct world w;

		make(&w, shapes[s][0], shapes[s][1], shapes[s][2], s + 21);
		for (size_t i = 0; i < w.a.n; i++)
			for (size_t t = 0; t < w.a.n_types; t++) {
				const struct hes_delay_spot *spot =
					&w.delays.spots[i * w.a.n_types + t];
				const double *knots_us =
					&w.delays.knots_us[t * w.delays.n_knots + spot->knot];

				if (isfinite(spot->time_us))
					assert_true(knots_us[0] <= spot->time_us &&
						    spot->time_us <= knots_us[1]);
			}
		unmake(&w);
	}
}

/* Sums are exact, so rows after moves equal newly computed rows bit for bit. */
TEST(rows_after_moves_equal_computed_rows)
{
	for (size_t s = 0; s < N(shapes); s++) {
		struct world w;
		double *filled;

		make(&w, shapes[s][0], shapes[s][1], shapes[s][2], s + 11);
		filled = calloc(hes_delays_rows(&w.a), sizeof(*filled));
		assert_non_null(filled);
		for (int i = 0; i < 500; i++)
			move_at_random(&w);
		hes_delays_fill(&w.delays, w.x, filled);
		for (size_t i = 0; i < w.a.k * w.delays.n_knots; i++)
			assert_true(filled[i] == w.rows[i]);
		free(filled);
		unmake(&w);
	}
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
