/* test_exact.c - the supported front against that of all assignments. */
#include <math.h>

#include "assign_bench.h"
#include "exact.h"
#include "unit_test.h"

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
