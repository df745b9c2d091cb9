/* test_exact.c - queues against evaluation from scratch, the assignment solver and the supported
 * front against exhaustion. */
#include <math.h>

#include "assign_bench.h"
#include "base/rng.h"
#include "plan/assign/exact.h"
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

static double least_at(const struct hes_pareto *p, double weight)
{
	double least = INFINITY;

	for (size_t i = 0; i < p->n; i++)
		least = fmin(least, weight * p->v[i].at.energy_mj / 1e8 +
					    (1 - weight) * p->v[i].at.jct_us / 1e6);
	return least;
}

static struct hes_pareto points_of(const struct hes_exact_front *f)
{
	struct hes_pareto p = { 0 };

	for (size_t i = 0; i < f->front.n; i++)
		assert_int_equal(hes_pareto_insert(&p, &f->front.v[i].at, i), 1);
	assert_int_equal(p.n, f->front.n);
	return p;
}

static void assert_is_supported_front(const struct hes_assign *a)
{
	const struct hes_exact_options complete = { 0 };
	struct hes_pareto all = assign_bench_exhaust(a), found;
	struct hes_exact_front f;
	struct hes_objectives reference;

	assert_int_equal(hes_exact_run(a, &complete, &f), 0);
	found = points_of(&f);
	for (double w = 0.001; w < 1; w += 0.001)
		assert_true(fabs(least_at(&found, w) / least_at(&all, w) - 1) < 1e-9);
	for (size_t i = 0; i < f.n_halfplanes; i++)
		for (size_t j = 0; j < all.n; j++)
			assert_true(f.halfplanes[i].w.energy * all.v[j].at.energy_mj +
					    f.halfplanes[i].w.jct * all.v[j].at.jct_us >=
				    f.halfplanes[i].least * (1 - 1e-12));
	reference = (struct hes_objectives){ 1.5 * all.v[all.n - 1].at.energy_mj,
					     1.5 * all.v[0].at.jct_us };
	assert_true(hes_pareto_hypervolume(&found, &reference) <=
		    hes_pareto_hypervolume(&all, &reference) + 1e-12);
	assert_true(f.left == 0);
	hes_pareto_free(&all);
	hes_pareto_free(&found);
	free(f.front.v);
	free(f.halfplanes);
}

TEST(the_supported_front_equals_that_of_all_assignments)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct assign_bench d;

		assign_bench_draw(&d, 7, 3, seed % 2 ? 3 : 2, seed);
		assert_is_supported_front(&d.a);
		assign_bench_finish(&d);
	}
}

TEST(waits_and_jobs_that_cannot_run_everywhere_are_respected)
{
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct assign_bench d;

		assign_bench_draw(&d, 6, 4, 2, seed);
		d.gpus[0].wait_us = 4e5;
		d.gpus[1].wait_us = 2e6;
		d.cost[0] = d.cost[3] = d.cost[6 + 4] = (struct hes_cost){ INFINITY, INFINITY };
		assign_bench_again(&d);
		assert_is_supported_front(&d.a);
		assign_bench_finish(&d);
	}
}

TEST(one_job_or_one_gpu_works)
{
	static const size_t shapes[][2] = { { 1, 1 }, { 1, 3 }, { 6, 1 }, { 2, 5 } };

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct assign_bench d;

		assign_bench_draw(&d, shapes[i][0], shapes[i][1], shapes[i][1], i + 1);
		assert_is_supported_front(&d.a);
		assign_bench_finish(&d);
	}
}

/* The same GPUs, each as its own type: nothing to collapse. */
static void draw_apart(const struct assign_bench *d, struct assign_bench *apart)
{
	const size_t n = d->a.n, k = d->a.k;

	apart->cost = calloc(k * n, sizeof(*apart->cost));
	apart->gpus = calloc(k, sizeof(*apart->gpus));
	assert_true(apart->cost && apart->gpus);
	for (size_t g = 0; g < k; g++) {
		memcpy(&apart->cost[g * n], &d->cost[d->gpus[g].type * n], n * sizeof(*d->cost));
		apart->gpus[g] = (struct hes_assign_gpu){ (uint32_t)g, d->gpus[g].wait_us };
	}
	assert_int_equal(hes_assign_init(&apart->a, n, k, k, apart->cost, apart->gpus), 0);
}

/* Compares the hull, because the searches may find different points on one line. */
TEST(collapsing_equal_gpus_does_not_change_the_front)
{
	const struct hes_exact_options complete = { 0 };

	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct hes_exact_front f, g;
		struct hes_pareto p, q;
		struct assign_bench d, apart;

		assign_bench_draw(&d, 60, seed == 1 ? 27 : 9, 3, seed);
		draw_apart(&d, &apart);
		assert_int_equal(hes_exact_run(&d.a, &complete, &f), 0);
		assert_int_equal(hes_exact_run(&apart.a, &complete, &g), 0);
		p = points_of(&f);
		q = points_of(&g);
		for (double w = 0.0005; w < 1; w += 0.0005)
			assert_true(fabs(least_at(&p, w) / least_at(&q, w) - 1) < 1e-12);
		hes_pareto_free(&p);
		hes_pareto_free(&q);
		free(f.front.v);
		free(f.halfplanes);
		free(g.front.v);
		free(g.halfplanes);
		assign_bench_finish(&d);
		assign_bench_finish(&apart);
	}
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

TEST(a_tolerance_or_a_number_of_weights_ends_the_search)
{
	struct hes_exact_options o = { .weights = 2 };
	struct hes_exact_front few, more;
	struct assign_bench d;

	assign_bench_draw(&d, 120, 9, 9, 2);
	assert_int_equal(hes_exact_run(&d.a, &o, &few), 0);
	assert_true(few.solves == 2 && few.front.n == 2 && few.left > 0.01);
	o = (struct hes_exact_options){ .tolerance = 1e-3 };
	assert_int_equal(hes_exact_run(&d.a, &o, &more), 0);
	assert_true(more.left <= 1e-3 && more.left > 0 && more.front.n > 4);
	assert_true(more.left < few.left);
	free(few.front.v);
	free(few.halfplanes);
	free(more.front.v);
	free(more.halfplanes);
	assign_bench_finish(&d);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
