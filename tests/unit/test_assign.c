/* test_assign.c - the Pareto set, stage 1's objectives, and the genetic algorithm against
 * exhaustion. */
#include <math.h>

#include "assign_bench.h"
#include "base/rng.h"
#include "plan/assign/genetic.h"
#include "plan/assign/operators.h"
#include "unit_test.h"

static int put(struct hes_pareto *p, double energy, double jct, uint64_t tag)
{
	return hes_pareto_insert(p, &(struct hes_objectives){ energy, jct }, tag);
}

/* Ranks 0, 1, 2 on one type and 2, 0, 1 on the other. */
TEST(jobs_are_ordered_by_their_mean_rank_the_longest_first)
{
	static const struct hes_cost cost[] = { { 1, 1 },  { 2, 1 },  { 3, 1 },
						{ 30, 1 }, { 10, 1 }, { 20, 1 } };
	static const struct hes_assign_gpu gpus[] = { { 0, 0 }, { 1, 0 } };
	struct hes_assign a;

	assert_int_equal(hes_assign_init(&a, 3, 2, 2, cost, gpus), 0);
	assert_true(a.longest_first[0] == 2 && a.longest_first[1] == 0 && a.longest_first[2] == 1);
	hes_assign_finish(&a);
}

TEST(a_dominated_or_equal_point_is_not_inserted)
{
	struct hes_pareto p = { 0 };

	assert_int_equal(put(&p, 2, 2, 1), 1);
	assert_int_equal(put(&p, 2, 2, 2), 0);
	assert_int_equal(put(&p, 3, 2, 3), 0);
	assert_int_equal(put(&p, 2, 3, 4), 0);
	assert_int_equal(p.n, 1);
	assert_int_equal(p.v[0].tag, 1);
	hes_pareto_free(&p);
}

TEST(an_inserted_point_removes_all_it_dominates)
{
	struct hes_pareto p = { 0 };

	put(&p, 1, 9, 1);
	put(&p, 3, 7, 2);
	put(&p, 4, 6, 3);
	put(&p, 8, 2, 4);
	assert_int_equal(put(&p, 3, 5, 5), 1);
	assert_int_equal(p.n, 3);
	assert_int_equal(p.v[0].tag, 1);
	assert_int_equal(p.v[1].tag, 5);
	assert_int_equal(p.v[2].tag, 4);
	hes_pareto_free(&p);
}

TEST(a_large_front_is_sorted_and_no_member_dominates_another)
{
	struct hes_pareto p = { 0 };
	struct hes_rng r;

	hes_rng_seed(&r, 5);
	for (uint64_t i = 0; i < 20000; i++) {
		double e = hes_rng_unit(&r);

		assert_true(put(&p, e, 1 / (0.1 + e) + hes_rng_unit(&r) * 0.1, i) >= 0);
	}
	assert_true(p.n > 20);
	for (size_t i = 1; i < p.n; i++) {
		assert_true(p.v[i - 1].at.energy_mj < p.v[i].at.energy_mj);
		assert_true(p.v[i - 1].at.jct_us > p.v[i].at.jct_us);
	}
	hes_pareto_free(&p);
}

/* The areas are 2, 16 and 7, without the first of them 25 and 7. */
TEST(thinning_removes_the_member_of_least_area)
{
	static const double at[][2] = { { 0, 10 }, { 1, 9 }, { 2, 5 }, { 5, 4 }, { 9, 0 } };
	struct hes_pareto p = { 0 };

	for (size_t i = 0; i < N(at); i++)
		put(&p, at[i][0], at[i][1], i);
	hes_pareto_thin(&p, 4);
	assert_true(p.n == 4 && p.v[1].tag == 2 && p.v[2].tag == 3);
	hes_pareto_thin(&p, 2);
	assert_true(p.n == 2 && p.v[0].tag == 0 && p.v[1].tag == 4);
	hes_pareto_free(&p);
}

/* Scaled: (0, 1), (.1, .8), (.45, .5), (1, 0): the second has the least sum, the third is nearest
 * the origin. */
TEST(the_knee_is_nearest_the_ideal_point_after_scaling)
{
	struct hes_pareto p = { 0 };

	put(&p, 100, 2000, 0);
	assert_int_equal(hes_pareto_knee(&p), 0);
	put(&p, 110, 1800, 1);
	put(&p, 145, 1500, 2);
	put(&p, 200, 1000, 3);
	assert_int_equal(hes_pareto_knee(&p), 2);
	hes_pareto_free(&p);
}

TEST(hypervolume_is_the_dominated_area_up_to_the_reference)
{
	struct hes_pareto p = { 0 };
	const struct hes_objectives reference = { 10, 100 };

	put(&p, 2, 80, 0); /* .8 x .2 */
	put(&p, 5, 30, 0); /* .5 x .5 more */
	put(&p, 12, 1, 0); /* above the reference */
	assert_true(fabs(hes_pareto_hypervolume(&p, &reference) - (0.16 + 0.25)) < 1e-12);
	hes_pareto_free(&p);
}

/* Three jobs; two GPUs of type 0 (the second free after 5), one of type 1. */
static const struct hes_cost small_cost[] = {
	{ 10, 100 }, { 4, 40 }, { 6, 50 }, { 5, 200 }, { 3, 10 }, { 9, 90 },
};
static const struct hes_assign_gpu small_gpus[] = { { 0, 0 }, { 0, 5 }, { 1, 0 } };

TEST(objectives_are_of_queues_run_shortest_first)
{
	struct hes_assign a;
	struct hes_assignment *x;

	assert_int_equal(hes_assign_init(&a, 3, 3, 2, small_cost, small_gpus), 0);
	x = hes_assignments_new(&a, 1);
	assert_non_null(x);
	/* All on the first: 4, then 6, then 10. */
	hes_assign_evaluate(&a, x);
	assert_true(x->at.energy_mj == 190 && x->at.jct_us == 4 + 10 + 20);
	assert_true(x->queue[0] == 1 && x->queue[1] == 2 && x->queue[2] == 0);
	/* Jobs 0 and 2 on the one that is free after 5, job 1 on type 1. */
	x->gpu_of[0] = x->gpu_of[2] = 1;
	x->gpu_of[1] = 2;
	hes_assign_evaluate(&a, x);
	assert_true(x->at.energy_mj == 160 && x->at.jct_us == (5 + 6) + (5 + 16) + 3);
	assert_true(x->end_us[2] == 11 && x->end_us[0] == 21 && x->end_us[1] == 3);
	assert_true(x->sums[0].busy_us == 0 && x->sums[1].busy_us == 16 &&
		    x->sums[2].energy_mj == 10);
	free(x);
	hes_assign_finish(&a);
}

/* Operators on a small problem, and two parents and a child of it. */
struct operator_bench {
	_Alignas(64) char scratch[4096], blocks[3][1024];
	struct hes_assign a;
	struct hes_operators ops;
	struct hes_operator_room room;
	struct hes_rng rng;
	struct hes_queues *p, *q, *child;
};

static struct operator_bench *operators_of(size_t n, size_t k, size_t types,
					   const struct hes_cost *cost,
					   const struct hes_assign_gpu *gpus)
{
	static struct operator_bench b;

	b = (struct operator_bench){ .p = (void *)b.blocks[0],
				     .q = (void *)b.blocks[1],
				     .child = (void *)b.blocks[2] };
	assert_int_equal(hes_assign_init(&b.a, n, k, types, cost, gpus), 0);
	assert_int_equal(hes_operators_init(&b.ops, &b.a, 0.1), 0);
	assert_true(hes_queues_size(&b.a) <= sizeof(b.blocks[0]) &&
		    hes_operator_room_size(&b.a) <= sizeof(b.scratch));
	b.room = hes_operator_room_in(&b.a, b.scratch);
	hes_rng_seed(&b.rng, 1);
	return &b;
}

static void operators_finish(struct operator_bench *b)
{
	hes_operators_finish(&b->ops);
	hes_assign_finish(&b->a);
}

static void assign_to(const struct operator_bench *b, struct hes_queues *x, const uint32_t *gpu_of)
{
	memcpy(hes_queues_gpu_of(&b->a, x), gpu_of, b->a.n * sizeof(*gpu_of));
	hes_queues_build(&b->a, x);
}

/* Job 0 is best on type 1 in both. Job 1 cannot run there; its other types tie. Type 1 has two
 * GPUs. */
TEST(a_first_assignment_takes_gpus_of_best_average_rank_alone)
{
	static const struct hes_cost cost[] = { { 9, 90 }, { 4, 70 },
						{ 5, 50 }, { INFINITY, INFINITY },
						{ 7, 80 }, { 6, 60 } };
	static const struct hes_assign_gpu gpus[] = { { 0, 0 }, { 1, 0 }, { 1, 0 }, { 2, 0 } };
	size_t drawn[2][4] = { 0 };
	struct operator_bench *b = operators_of(2, 4, 3, cost, gpus);

	for (int i = 0; i < 100; i++) {
		hes_ranked_draw(&b->ops, &b->rng, b->p);
		for (size_t j = 0; j < 2; j++)
			drawn[j][hes_queues_gpus(&b->a, b->p)[j]]++;
	}
	assert_true(drawn[0][1] > 20 && drawn[0][2] > 20 && drawn[0][1] + drawn[0][2] == 100);
	assert_true(drawn[1][0] > 20 && drawn[1][3] > 20 && drawn[1][0] + drawn[1][3] == 100);
	operators_finish(b);
}

/* Jobs are good on their own GPUs only. One parent has the first two there, the other the last two;
 * job 0 has the best queue of a GPU in both. */
TEST(a_child_inherits_each_gpus_jobs_from_the_parent_where_they_are_better)
{
	static const uint32_t first[] = { 0, 1, 3, 2 }, second[] = { 4, 0, 2, 3 };
	static const struct hes_assign_gpu gpus[] = {
		{ 0, 0 }, { 1, 0 }, { 2, 0 }, { 3, 0 }, { 4, 0 }
	};
	struct hes_cost cost[20];
	struct operator_bench *b;

	for (uint32_t i = 0; i < 20; i++)
		cost[i] = i % 5 || i > 15 ? (struct hes_cost){ 10, 10 } : (struct hes_cost){ 1, 1 };
	b = operators_of(4, 5, 5, cost, gpus);
	assign_to(b, b->p, first);
	assign_to(b, b->q, second);
	for (uint32_t turn = 0; turn < 2; turn++) {
		hes_inherit(&b->ops, &b->rng, &b->room, turn ? b->q : b->p, turn ? b->p : b->q,
			    b->child);
		assert_memory_equal(hes_queues_gpus(&b->a, b->child), ((uint32_t[]){ 0, 1, 2, 3 }),
				    4 * sizeof(uint32_t));
	}
	operators_finish(b);
}

/* Job 0 is cheap on GPU 1, where it uses as much as two of the others. Job 2, which uses most like
 * it, leaves first, then job 3; without recovery nobody does. */
TEST(recovery_keeps_the_usage_of_the_target)
{
	static const struct hes_cost cost[] = { { 5, 50 }, { 1, 90 }, { 4, 90 }, { 9, 90 },
						{ 5, 40 }, { 1, 10 }, { 4, 10 }, { 9, 10 } };
	static const struct hes_usage usage[8] = { [4] = { .4, .3, .2 },
						   [5] = { .1, .1, .1 },
						   [6] = { .4, .1, .1 },
						   [7] = { .1, .2, .1 } };
	static const struct hes_assign_gpu gpus[] = { { 0, 0 }, { 1, 0 } };
	static const uint32_t before[] = { 0, 1, 1, 1 }, after[] = { 1, 1, 0, 0 },
			      alone[] = { 1, 1, 1, 1 };
	struct operator_bench *b = operators_of(4, 2, 2, cost, gpus);

	b->a.usage = usage;
	b->room.moving[0] = 0;
	b->room.moves[0] = 1;
	for (int without = 0; without < 2; without++) {
		b->ops.no_recovery = without;
		assign_to(b, b->p, before);
		hes_migrate(&b->ops, &b->room, 1, true, b->p);
		assert_memory_equal(hes_queues_gpus(&b->a, b->p), without ? alone : after,
				    sizeof(after));
	}
	operators_finish(b);
}

static struct hes_pareto run(const struct hes_assign *a, uint32_t generations, uint64_t seed)
{
	struct hes_genetic_options o = hes_genetic_defaults;
	struct hes_assign_front f;
	struct hes_pareto p = { 0 };

	o.generations = generations;
	o.seed = seed;
	assert_int_equal(hes_genetic_run(a, &o, &f), 0);
	assert_true(f.n >= 1 && f.n <= o.population);
	for (size_t i = 0; i < f.n; i++)
		assert_int_equal(hes_pareto_insert(&p, &f.v[i].at, i), 1);
	assert_int_equal(p.n, f.n); /* none dominated another */
	free(f.v);
	return p;
}

/* 3 GPUs, 7 jobs: all 2187 assignments. */
TEST(the_genetic_front_of_a_tiny_problem_is_nearly_the_true_one)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct assign_bench d;
		struct hes_pareto all, found;
		struct hes_objectives reference;

		assign_bench_draw(&d, 7, 3, 3, seed);
		all = assign_bench_exhaust(&d.a);
		found = run(&d.a, 100, seed);
		reference = (struct hes_objectives){ 2 * all.v[all.n - 1].at.energy_mj,
						     2 * all.v[0].at.jct_us };
		for (size_t i = 0; i < found.n; i++) {
			bool real = false;

			for (size_t j = 0; j < all.n; j++)
				real |= all.v[j].at.energy_mj <=
						found.v[i].at.energy_mj * (1 + 1e-12) &&
					all.v[j].at.jct_us <= found.v[i].at.jct_us * (1 + 1e-12);
			assert_true(real);
		}
		assert_true(hes_pareto_hypervolume(&found, &reference) >
			    0.98 * hes_pareto_hypervolume(&all, &reference));
		hes_pareto_free(&all);
		hes_pareto_free(&found);
		assign_bench_finish(&d);
	}
}

TEST(the_seed_determines_the_front)
{
	struct assign_bench d;
	struct hes_pareto x, y, z;

	assign_bench_draw(&d, 30, 5, 3, 9);
	x = run(&d.a, 30, 7);
	y = run(&d.a, 30, 7);
	z = run(&d.a, 30, 8);
	assert_int_equal(x.n, y.n);
	assert_memory_equal(x.v, y.v, x.n * sizeof(*x.v));
	assert_true(z.n != x.n || memcmp(x.v, z.v, x.n * sizeof(*x.v)) != 0);
	hes_pareto_free(&x);
	hes_pareto_free(&y);
	hes_pareto_free(&z);
	assign_bench_finish(&d);
}

/* Powers of two change no rounding. */
TEST(units_of_energy_and_time_do_not_change_what_is_found)
{
	struct hes_genetic_options o = hes_genetic_defaults;
	struct hes_assign_front f[2];
	struct assign_bench d;

	o.generations = 40;
	assign_bench_draw(&d, 20, 6, 3, 7);
	for (int k = 0; k < 2; k++) {
		assert_int_equal(hes_genetic_run(&d.a, &o, &f[k]), 0);
		for (size_t i = 0; i < 3 * 20 && !k; i++) {
			d.cost[i].energy_mj = ldexp(d.cost[i].energy_mj, -30);
			d.cost[i].time_us = ldexp(d.cost[i].time_us, -30);
		}
		assign_bench_again(&d);
	}
	assert_int_equal(f[0].n, f[1].n);
	for (size_t i = 0; i < f[0].n; i++)
		assert_memory_equal(f[0].v[i].gpu_of, f[1].v[i].gpu_of,
				    20 * sizeof(*f[0].v[i].gpu_of));
	free(f[0].v);
	free(f[1].v);
	assign_bench_finish(&d);
}

TEST(a_job_is_never_put_where_it_cannot_run)
{
	struct hes_genetic_options o = hes_genetic_defaults;
	struct hes_assign_front f;
	struct assign_bench d;

	assign_bench_draw(&d, 20, 6, 3, 4);
	for (size_t i = 0; i < 20; i += 2)
		d.cost[0 * 20 + i] = d.cost[2 * 20 + i] = (struct hes_cost){ INFINITY, INFINITY };
	assign_bench_again(&d);
	o.generations = 40;
	assert_int_equal(hes_genetic_run(&d.a, &o, &f), 0);
	for (size_t i = 0; i < f.n; i++) {
		assert_true(isfinite(f.v[i].at.jct_us) && isfinite(f.v[i].at.energy_mj));
		for (size_t j = 0; j < 20; j += 2)
			assert_int_equal(d.gpus[f.v[i].gpu_of[j]].type, 1);
	}
	free(f.v);
	assign_bench_finish(&d);
}

TEST(one_job_on_one_gpu_is_a_front_of_one)
{
	struct assign_bench d;
	struct hes_pareto p;

	assign_bench_draw(&d, 1, 1, 1, 1);
	p = run(&d.a, 5, 1);
	assert_int_equal(p.n, 1);
	hes_pareto_free(&p);
	assign_bench_finish(&d);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
