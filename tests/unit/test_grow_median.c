/* test_grow_median.c - sums of absolute deviations from medians, against their definition. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "trees/leaf_median.h"

#define MOST 70 /* rows there are */

/* Rows of a group: some of those there are, by rising target, and in the order in which they leave. */
struct group {
	double   y[MOST];
	uint32_t weight[MOST];
	uint32_t sorted[MOST], leaving[MOST];
	uint32_t n;
};

/* @values: distinct targets, eighths, so that all sums are exact */
static void group_draw(struct group *g, uint32_t n, uint64_t values, uint64_t most_weight, struct hes_rng *rng)
{
	uint32_t rows[MOST];

	for (uint32_t i = 0; i < MOST; i++) {
		g->y[i] = (double)hes_rng_below(rng, values) / 8 - 100;
		g->weight[i] = 1 + (uint32_t)hes_rng_below(rng, most_weight);
		rows[i] = i;
	}
	hes_rng_shuffle(rng, rows, MOST);
	g->n = n;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = i;

		for (; at && g->y[g->sorted[at - 1]] > g->y[rows[i]]; at--)
			g->sorted[at] = g->sorted[at - 1];
		g->sorted[at] = rows[i];
		g->leaving[i] = rows[i];
	}
	hes_rng_shuffle(rng, g->leaving, n);
}

/* The least sum of weighted distances from any of the rows' targets: the median's. */
static double least_sum(const struct group *g, const uint32_t *rows, uint32_t n)
{
	double least = INFINITY;

	for (uint32_t c = 0; c < n; c++) {
		double sum = 0;

		for (uint32_t i = 0; i < n; i++)
			sum += g->weight[rows[i]] * fabs(g->y[rows[i]] - g->y[rows[c]]);
		least = fmin(least, sum);
	}
	return least;
}

static void check(struct median *m, const struct group *g)
{
	double first[MOST + 1], rest[MOST];

	median_load(m, g->sorted, g->n, g->y, g->weight);
	/* Twice: one order must leave nothing behind for the next. */
	for (int again = 0; again < 2; again++) {
		median_sums(m, g->leaving, first, rest);
		for (uint32_t k = 0; k < g->n; k++) {
			assert_true(rest[k] == least_sum(g, g->leaving + k, g->n - k));
			assert_true(first[k + 1] == least_sum(g, g->leaving, k + 1));
		}
	}
}

static void check_groups(uint64_t values, uint64_t most_weight)
{
	struct hes_rng rng;
	struct median m;
	struct group g;

	hes_rng_seed(&rng, values + 7 * most_weight);
	assert_int_equal(median_init(&m, MOST), 0);
	for (uint32_t n = 1; n <= MOST; n++) {
		group_draw(&g, n, values, most_weight, &rng);
		check(&m, &g);
	}
	median_finish(&m);
}

static void sums_are_least_for_targets_that_all_differ(void **state)
{
	(void)state;
	check_groups(1 << 20, 1);
}

static void sums_are_least_where_rows_weigh_more_than_one(void **state)
{
	(void)state;
	check_groups(1 << 20, 3);
	check_groups(1 << 20, 1000000);
}

static void sums_are_least_where_targets_are_tied(void **state)
{
	(void)state;
	check_groups(1, 4);
	check_groups(2, 1);
	check_groups(3, 4);
	check_groups(12, 4);
}

/* The median has to cross the whole list in one step, both ways. */
static void sums_are_least_when_one_row_outweighs_all_others(void **state)
{
	struct hes_rng rng;
	struct median m;
	struct group g;

	(void)state;
	hes_rng_seed(&rng, 5);
	assert_int_equal(median_init(&m, MOST), 0);
	for (uint32_t heavy = 0; heavy < MOST; heavy++) {
		group_draw(&g, MOST, 1 << 20, 1, &rng);
		g.weight[g.sorted[heavy]] = 10000;
		check(&m, &g);
	}
	median_finish(&m);
}

/* Targets far from 0: their distances keep all digits. */
static void sums_keep_their_digits_far_from_0(void **state)
{
	struct hes_rng rng;
	struct median m;
	struct group g;

	(void)state;
	hes_rng_seed(&rng, 6);
	assert_int_equal(median_init(&m, MOST), 0);
	group_draw(&g, MOST, 1000, 4, &rng);
	for (uint32_t i = 0; i < MOST; i++)
		g.y[i] += 0x1p49;
	check(&m, &g);
	median_finish(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_least_for_targets_that_all_differ),
		cmocka_unit_test(sums_are_least_where_rows_weigh_more_than_one),
		cmocka_unit_test(sums_are_least_where_targets_are_tied),
		cmocka_unit_test(sums_are_least_when_one_row_outweighs_all_others),
		cmocka_unit_test(sums_keep_their_digits_far_from_0),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
