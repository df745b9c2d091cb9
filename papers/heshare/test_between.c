/* test_between.c - what jobs add where against evaluation from scratch, and the front between
 * supported points against exhaustion. */
#include <math.h>

#include "base/rng.h"
#include "algorithms.h"
#include "between.h"
#include "gap.h"
#include "marginals.h"
#include "plan/assign/queues.h"
#include "unit_test.h"

#define JOBS  7
#define TYPES 3

/* Three GPUs of three types, one of them busy for a while; one job cannot run on the first. */
struct drawn {
	struct hes_assign a;
	struct hes_cost cost[JOBS * TYPES];
	struct hes_assign_gpu gpus[TYPES];
};

static void draw(struct drawn *d, uint64_t seed)
{
	struct hes_rng r;

	hes_rng_seed(&r, seed);
	for (size_t i = 0; i < JOBS; i++) {
		double work = 1e5 + hes_rng_exponential(&r, 1e6);

		for (size_t t = 0; t < TYPES; t++) {
			struct hes_cost *c = &d->cost[t * JOBS + i];

			c->time_us = work / (1 + (double)t) * (0.5 + hes_rng_unit(&r));
			c->energy_mj = c->time_us * 60 * (1 + 1.5 * (double)t) *
				       (0.7 + 0.6 * hes_rng_unit(&r));
		}
	}
	d->cost[3] = (struct hes_cost){ INFINITY, INFINITY };
	for (uint32_t g = 0; g < TYPES; g++)
		d->gpus[g] = (struct hes_assign_gpu){ g, g == 2 ? 4e5 : 0 };
	assert_int_equal(hes_assign_init(&d->a, JOBS, TYPES, TYPES, d->cost, d->gpus), 0);
}

static struct hes_objectives rebuild(const struct hes_assign *a, const uint32_t *gpu_of)
{
	struct hes_queues *x = aligned_alloc(64, hes_queues_size(a));
	struct hes_objectives at;

	assert_non_null(x);
	memcpy(hes_queues_gpu_of(a, x), gpu_of, a->n * sizeof(*gpu_of));
	hes_queues_build(a, x);
	at = x->at;
	free(x);
	return at;
}

static bool can_run(const struct drawn *d, uint32_t job, uint32_t gpu)
{
	return isfinite(d->cost[gpu * JOBS + job].time_us);
}

static void assert_same(const struct hes_objectives *x, const struct hes_objectives *y)
{
	assert_memory_equal(x, y, sizeof(*x));
}

TEST(changes_of_moves_and_swaps_are_exact)
{
	struct hes_marginals m;
	uint32_t gpu_of[JOBS] = { 1, 1, 1, 1, 2, 2, 0 };
	struct hes_rng r;
	struct drawn d;

	draw(&d, 1);
	hes_rng_seed(&r, 1);
	assert_int_equal(hes_marginals_init(&m, &d.a), 0);
	hes_marginals_set(&m, gpu_of);
	for (int turn = 0; turn < 2000; turn++) {
		const uint32_t i = (uint32_t)hes_rng_below(&r, JOBS),
			       j = (uint32_t)hes_rng_below(&r, JOBS);
		const uint32_t g = (uint32_t)hes_rng_below(&r, TYPES);
		struct hes_objectives at = rebuild(&d.a, m.gpu_of), change, then;

		assert_same(&at, &m.at);
		memcpy(gpu_of, m.gpu_of, sizeof(gpu_of));
		if (gpu_of[i] != gpu_of[j] && can_run(&d, i, gpu_of[j]) &&
		    can_run(&d, j, gpu_of[i])) {
			change = hes_marginals_of_swap(&m, i, j);
			gpu_of[i] = m.gpu_of[j];
			gpu_of[j] = m.gpu_of[i];
			then = rebuild(&d.a, gpu_of);
			assert_true(at.energy_mj + change.energy_mj == then.energy_mj);
			assert_true(at.jct_us + change.jct_us == then.jct_us);
		}
		if (can_run(&d, i, g))
			hes_marginals_move(&m, i, g);
		if (turn % 7 == 0)
			hes_marginals_set(&m, gpu_of);
	}
	hes_marginals_finish(&m);
	hes_assign_finish(&d.a);
}

/* Everything that is possible. */
static void enumerate(const struct drawn *d, struct hes_pareto *out)
{
	for (uint32_t code = 0; code < 2187; code++) {
		uint32_t gpu_of[JOBS];
		struct hes_objectives at;
		bool runs = true;

		for (uint32_t i = 0, rest = code; i < JOBS; i++, rest /= TYPES) {
			gpu_of[i] = rest % TYPES;
			runs &= can_run(d, i, gpu_of[i]);
		}
		if (!runs)
			continue;
		at = rebuild(&d->a, gpu_of);
		assert_true(hes_pareto_insert(out, &at, code) >= 0);
	}
}

static double hypervolume_of(const struct hes_assign_front *f,
			     const struct hes_objectives *reference)
{
	struct hes_pareto p = { 0 };
	double area;

	for (size_t i = 0; i < f->n; i++)
		assert_int_equal(hes_pareto_insert(&p, &f->v[i].at, i), 1);
	area = hes_pareto_hypervolume(&p, reference);
	hes_pareto_free(&p);
	return area;
}

static void find(const struct drawn *d, const char *algorithm, uint32_t threads,
		 struct hes_algorithm_result *out)
{
	struct hes_algorithm_options o = hes_algorithm_defaults;

	o.threads = threads;
	assert_int_equal(hes_algorithm_find(algorithm)->run(&d->a, &o, out), 0);
}

static void release(struct hes_algorithm_result *r)
{
	free(r->front.v);
	free(r->halfplanes);
}

TEST(nearly_all_trade_offs_between_supported_points_are_found)
{
	double all = 0, found = 0, supported = 0;

	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct hes_algorithm_result exact, joint;
		struct hes_pareto truth = { 0 };
		struct hes_objectives reference;
		struct drawn d;

		draw(&d, seed);
		enumerate(&d, &truth);
		find(&d, "exact", 1, &exact);
		find(&d, "joint", 1, &joint);
		reference = (struct hes_objectives){ truth.v[truth.n - 1].at.energy_mj * 1.01,
						     truth.v[0].at.jct_us * 1.01 };
		all += hes_pareto_hypervolume(&truth, &reference);
		found += hypervolume_of(&joint.front, &reference);
		supported += hypervolume_of(&exact.front, &reference);
		assert_true(hypervolume_of(&joint.front, &reference) <=
			    hes_pareto_hypervolume(&truth, &reference) + 1e-9);
		assert_true(hypervolume_of(&joint.front, &reference) <=
			    hes_halfplanes_bound(joint.halfplanes, joint.n_halfplanes, &reference));
		assert_true(hypervolume_of(&exact.front, &reference) <=
			    hypervolume_of(&joint.front, &reference));
		release(&exact);
		release(&joint);
		hes_pareto_free(&truth);
		hes_assign_finish(&d.a);
	}
	assert_true(supported < 0.99 * all);
	assert_true(found > 0.9995 * all);
}

TEST(the_front_does_not_depend_on_threads)
{
	struct hes_algorithm_result one, many;
	struct drawn d;

	draw(&d, 5);
	find(&d, "joint", 1, &one);
	find(&d, "joint", 3, &many);
	assert_int_equal(one.front.n, many.front.n);
	assert_int_equal(one.evaluations, many.evaluations);
	for (size_t i = 0; i < one.front.n; i++)
		assert_memory_equal(one.front.v[i].gpu_of, many.front.v[i].gpu_of,
				    JOBS * sizeof(uint32_t));
	release(&one);
	release(&many);
	hes_assign_finish(&d.a);
}

TEST(the_limit_of_evaluations_holds)
{
	const struct hes_between_options o = { 1, 1 };
	struct hes_algorithm_result exact;
	uint64_t evaluations;
	struct drawn d;
	size_t before;

	draw(&d, 3);
	find(&d, "exact", 1, &exact);
	before = exact.front.n;
	assert_int_equal(hes_between_search(&d.a, &o, &exact.front, &evaluations), 0);
	assert_true(exact.front.n >= before && evaluations < 50 * JOBS);
	release(&exact);
	hes_assign_finish(&d.a);
}

/* Two jobs on 5000 GPUs: few values by job and GPU, 25 million by pair of GPUs. */
TEST(tables_by_pairs_of_gpus_are_not_kept_beyond_the_limit)
{
	enum { GPUS = 5000 };
	const struct hes_cost cost[] = { { 2e6, 3e7 }, { 1e6, 2e7 } };
	struct hes_assign_gpu *gpus = calloc(GPUS, sizeof(*gpus));
	struct hes_gap_room r;
	struct hes_assign a;

	assert_non_null(gpus);
	assert_int_equal(hes_assign_init(&a, 2, GPUS, 1, cost, gpus), 0);
	assert_int_equal(hes_gap_room_init(&r, &a, (size_t)1 << 24), 0);
	assert_true(r.wide && !r.least_swap);
	hes_gap_room_finish(&r);
	assert_int_equal(hes_gap_room_init(&r, &a, (size_t)1 << 25), 0);
	assert_false(r.wide);
	hes_gap_room_finish(&r);
	hes_assign_finish(&a);
	free(gpus);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
