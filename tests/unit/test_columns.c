/*
 * test_columns.c - linear programs that grow: what duality says of an optimum, and
 * one that is known.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "plan/columns.h"

#define DEMANDS    12
#define CAPACITIES 8
#define ROWS       (DEMANDS + CAPACITIES)
#define COLUMNS    300
#define DEAR       1e3

struct column {
	double           cost;
	struct hes_entry v[4];
};

/* Two demands are served, on one capacity; one more column a demand stands for serving too much. */
static struct column make(struct hes_rng *r)
{
	const uint32_t one = (uint32_t)hes_rng_below(r, DEMANDS);
	const uint32_t two = (one + 1 + (uint32_t)hes_rng_below(r, DEMANDS - 1)) % DEMANDS;

	return (struct column){ 1 + hes_rng_unit(r), {
		{ one, 0.5 + hes_rng_unit(r) }, { two, 0.5 + hes_rng_unit(r) },
		{ DEMANDS + (uint32_t)hes_rng_below(r, CAPACITIES), 1 }, { 0, 0 } } };
}

static struct hes_columns *begin(double right[ROWS])
{
	double dear[ROWS] = { 0 };
	struct hes_columns *c;

	for (uint32_t i = 0; i < ROWS; i++) {
		right[i] = i < DEMANDS ? 1 : 1.5;
		dear[i] = i < DEMANDS ? DEAR : 0;
	}
	c = hes_columns_new(ROWS, right, dear);
	assert_non_null(c);
	for (uint32_t i = 0; i < DEMANDS; i++)
		assert_int_equal(hes_columns_add(c, 0, &(struct hes_entry){ i, -1 }, 1), 0);
	return c;
}

/* No column brings anything, no price has the wrong sign, and prices account for all of the cost. */
static void assert_optimal(const struct hes_columns *c, const struct column *v, size_t n, const double right[ROWS],
			   double cost)
{
	const double *price = hes_columns_prices(c);
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		double reduced = v[i].cost;

		for (int e = 0; e < 3; e++)
			reduced -= price[v[i].v[e].row] * v[i].v[e].v;
		assert_true(reduced > -1e-6);
	}
	for (size_t i = 0; i < ROWS; i++) {
		assert_true(i < DEMANDS ? price[i] > -1e-6 && price[i] < DEAR + 1e-6 : price[i] < 1e-6);
		sum += price[i] * right[i];
	}
	assert_true(fabs(sum / cost - 1) < 1e-4);
}

static void prices_prove_the_cost_each_time_columns_are_added(void **state)
{
	struct column v[COLUMNS];
	double right[ROWS], last = INFINITY;
	struct hes_columns *c = begin(right);
	struct hes_rng r;

	(void)state;
	hes_rng_seed(&r, 7);
	for (size_t n = 0; n < COLUMNS; n++) {
		v[n] = make(&r);
		assert_int_equal(hes_columns_add(c, v[n].cost, v[n].v, 3), 0);
		if (n % 50 == 49) {
			double cost = hes_columns_solve(c, 10000);

			assert_optimal(c, v, n + 1, right, cost);
			assert_true(cost <= last + 1e-9);
			last = cost;
		}
	}
	assert_true(last < DEAR);
	hes_columns_free(c);
}

/* Rolls of 10 cut into pieces of 3 (9 of them), 5 (8) and 6 (4): by pieces of rolls, 4 / 1 + 5 / 3 + 4. */
static void stock_is_cut_with_the_least_rolls(void **state)
{
	static const double right[3] = { 9, 8, 4 }, dear[3] = { 100, 100, 100 };
	static const double cuts[][3] = { { 3, 0, 0 }, { 1, 1, 0 }, { 0, 2, 0 }, { 1, 0, 1 } };
	struct hes_columns *c = hes_columns_new(3, right, dear);

	(void)state;
	assert_non_null(c);
	for (size_t i = 0; i < 4; i++) {
		const struct hes_entry e[3] = { { 0, cuts[i][0] }, { 1, cuts[i][1] }, { 2, cuts[i][2] } };

		assert_int_equal(hes_columns_add(c, 1, e, 3), 0);
	}
	assert_true(fabs(hes_columns_solve(c, 100) - (4 + 5.0 / 3 + 4)) < 1e-5);
	hes_columns_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prices_prove_the_cost_each_time_columns_are_added),
		cmocka_unit_test(stock_is_cut_with_the_least_rolls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
