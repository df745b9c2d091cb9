/* test_queues.c - queues against evaluation from scratch; the assignment solver's cost against its
 * bound. */
#include <math.h>

#include "assign_bench.h"
#include "base/rng.h"
#include "plan/assign/lap.h"
#include "plan/assign/operators.h"
#include "plan/assign/queues.h"
#include "unit_test.h"

static struct hes_queues *random_queues(const struct hes_assign *a, struct hes_rng *r)
{
	struct hes_queues *x = aligned_alloc(64, hes_queues_size(a));

	assert_non_null(x);
	memset(x, 0, hes_queues_size(a));
	for (size_t i = 0; i < a->n; i++)
		hes_queues_gpu_of(a, x)[i] = (uint32_t)hes_rng_below(r, a->k);
	hes_queues_build(a, x);
	return x;
}

static void assert_consistent(const struct hes_assign *a, const struct hes_queues *x)
{
	struct hes_queues *rebuilt = aligned_alloc(64, hes_queues_size(a));
	struct hes_assignment *y = hes_assignments_new(a, 1);

	assert_true(rebuilt && y);
	memcpy(rebuilt, x, hes_queues_size(a));
	hes_queues_build(a, rebuilt);
	assert_memory_equal(rebuilt, x, sizeof(*x) + a->k * sizeof(x->v[0]));
	assert_memory_equal(hes_queues_next(a, rebuilt), hes_queues_next(a, x),
			    a->n * sizeof(uint32_t));
	memcpy(y->gpu_of, hes_queues_gpus(a, x), a->n * sizeof(*y->gpu_of));
	hes_assign_evaluate(a, y);
	assert_true(fabs(y->at.energy_mj / x->at.energy_mj - 1) < 1e-9);
	assert_true(fabs(y->at.jct_us / x->at.jct_us - 1) < 1e-9);
	free(rebuilt);
	free(y);
}

/* A hundred single moves, then a hundred shifts and one settle. */
static void move_at_random(size_t n, size_t k, uint64_t seed)
{
	struct assign_bench d;
	struct hes_queues *x;
	struct hes_rng r;

	assign_bench_draw(&d, n, k, 3, seed);
	d.gpus[2].wait_us = 3e5;
	assign_bench_again(&d);
	hes_rng_seed(&r, seed);
	x = random_queues(&d.a, &r);
	for (int i = 0; i < 3000; i++) {
		const uint32_t job = (uint32_t)hes_rng_below(&r, n),
			       gpu = (uint32_t)hes_rng_below(&r, k);

		if (i % 200 < 100)
			hes_queues_move(&d.a, x, job, gpu);
		else
			hes_queues_shift(&d.a, x, job, gpu);
		if (i % 100 == 99) {
			hes_queues_settle(&d.a, x);
			assert_consistent(&d.a, x);
		}
	}
	free(x);
	assign_bench_finish(&d);
}

TEST(queues_after_moves_equal_rebuilt_queues_bit_for_bit)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		move_at_random(80, 7, seed);
		move_at_random(300, 3, seed); /* long queues */
	}
}

/* HeShare, section III-B2c: SMs, bandwidth and memory count alike; the first of equals. */
static size_t most_similar_of_all(const struct hes_assign *a, const uint8_t *moves,
				  const struct hes_queues *x, const struct hes_usage *u,
				  uint32_t gpu, uint32_t to)
{
	const size_t row = a->gpus[gpu].type * a->n;
	double nearest = INFINITY;
	size_t best = a->n;

	for (size_t rank = 0; rank < a->n; rank++) {
		const uint32_t i = a->order[row + rank];
		const struct hes_usage *v = &a->usage[row + i];
		const double d = fabs(v->sm - u->sm) + fabs(v->bandwidth - u->bandwidth) +
				 fabs(v->memory - u->memory);

		if (hes_queues_gpus(a, x)[i] == gpu && !moves[i] &&
		    isfinite(hes_assign_cost(a, i, to)->time_us) && d < nearest) {
			nearest = d;
			best = i;
		}
	}
	return best;
}

/* Some jobs use equally much, some may not leave. */
TEST(the_most_similar_job_is_found_by_its_usage)
{
	enum { N = 60, K = 8, TYPES = 3 };
	struct hes_usage usage[TYPES * N];
	uint8_t moves[N];
	struct assign_bench d;
	struct hes_queues *x;
	struct hes_rng r;

	assign_bench_draw(&d, N, K, TYPES, 7);
	hes_rng_seed(&r, 7);
	for (size_t i = 0; i < TYPES * N; i++)
		usage[i] = (struct hes_usage){ (double)hes_rng_below(&r, 4) / 4,
					       (double)hes_rng_below(&r, 4) / 4,
					       (double)hes_rng_below(&r, 4) / 4 };
	d.a.usage = usage;
	x = random_queues(&d.a, &r);
	for (size_t i = 0; i < N; i++)
		moves[i] = hes_rng_below(&r, 5) == 0;
	for (uint32_t job = 0; job < N; job++)
		for (uint32_t gpu = 0; gpu < K; gpu++)
			assert_int_equal(
				hes_most_similar(&d.a, moves, x, &usage[job], gpu, (gpu + 1) % K),
				most_similar_of_all(&d.a, moves, x, &usage[job], gpu,
						    (gpu + 1) % K));
	free(x);
	assign_bench_finish(&d);
}

TEST(taking_over_an_assignment_gives_the_same_queues_by_moves_and_by_rebuild)
{
	struct assign_bench d;
	struct hes_rng r;

	assign_bench_draw(&d, 60, 5, 5, 3);
	hes_rng_seed(&r, 3);
	for (size_t changes = 0; changes <= 60; changes += 3) {
		struct hes_queues *x = random_queues(&d.a, &r);
		uint32_t wanted[60];

		memcpy(wanted, hes_queues_gpus(&d.a, x), sizeof(wanted));
		for (size_t i = 0; i < changes; i++)
			wanted[i] = (wanted[i] + 1) % 5;
		hes_queues_become(&d.a, x, wanted);
		assert_memory_equal(wanted, hes_queues_gpus(&d.a, x), sizeof(wanted));
		assert_consistent(&d.a, x);
		free(x);
	}
	assign_bench_finish(&d);
}

TEST(the_delay_of_a_move_equals_the_change_of_completion_times)
{
	struct assign_bench d;
	struct hes_queues *x;
	struct hes_rng r;

	assign_bench_draw(&d, 40, 6, 3, 5);
	hes_rng_seed(&r, 5);
	x = random_queues(&d.a, &r);
	for (uint32_t i = 0; i < 500; i++) {
		uint32_t job = (uint32_t)hes_rng_below(&r, 40),
			 gpu = (uint32_t)hes_rng_below(&r, 6);
		uint32_t from = hes_queues_gpus(&d.a, x)[job];
		double loses = hes_queues_delay_us(&d.a, x, job, from),
		       gains = hes_queues_delay_us(&d.a, x, job, gpu);
		double before = x->at.jct_us;

		hes_queues_move(&d.a, x, job, gpu);
		assert_true(x->at.jct_us == before + (gpu == from ? 0 : gains - loses));
	}
	free(x);
	assign_bench_finish(&d);
}

/* The bound comes from prices alone, the cost from the assignment alone: if they are equal, both
 * are right. */
static void assert_cost_equals_bound(size_t n, size_t k, size_t types, uint64_t seed)
{
	struct assign_bench d;
	struct hes_lap *l;
	struct hes_assignment *x;

	assign_bench_draw(&d, n, k, types, seed);
	l = hes_lap_new(&d.a);
	x = hes_assignments_new(&d.a, 1);
	assert_true(l && x);
	for (int i = 0; i < 4; i++) {
		const struct hes_weights w = { pow(10, -i), pow(10, i - 3) * 100 };
		double bound;

		assert_int_equal(hes_lap_solve(l, &w, x->gpu_of, &bound), 0);
		hes_assign_evaluate(&d.a, x);
		assert_true(fabs((w.energy * x->at.energy_mj + w.jct * x->at.jct_us) / bound - 1) <
			    1e-11);
	}
	hes_lap_free(l);
	free(x);
	assign_bench_finish(&d);
}

TEST(cost_and_bound_are_equal_for_any_shape)
{
	assert_cost_equals_bound(300, 20, 20, 1);
	assert_cost_equals_bound(500, 60, 4, 2);    /* rows of steps */
	assert_cost_equals_bound(10000, 400, 4, 3); /* and samples */
	assert_cost_equals_bound(400, 5, 5, 4);     /* long queues */
	assert_cost_equals_bound(50, 200, 4, 5);    /* more GPUs than jobs */
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
