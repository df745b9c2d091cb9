/* test_rng.c - random numbers: the published sequence, the distributions, independent streams. */
#include <math.h>

#include "base/rng.h"
#include "unit_test.h"

#define DRAWS 200000

/* xoshiro256** from the state 1, 2, 3, 4: the reference sequence of its authors. */
TEST(the_sequence_is_the_published_one)
{
	static const uint64_t expected[] = { 11520, 0, 1509978240, 1215971899390074240 };
	struct hes_rng r = { { 1, 2, 3, 4 } };

	for (size_t i = 0; i < 4; i++)
		assert_true(hes_rng_u64(&r) == expected[i]);
}

/* The generator's authors seed by splitmix64; other implementations give the same for seed 0. */
TEST(a_seed_goes_through_splitmix64)
{
	struct hes_rng r;

	hes_rng_seed(&r, 0);
	assert_true(r.s[0] == 0xe220a8397b1dcdaf);
	assert_true(hes_rng_u64(&r) == 11091344671253066420u);
}

TEST(forks_differ_by_index_and_do_not_change_their_parent)
{
	struct hes_rng r, before, a, b, c;

	hes_rng_seed(&r, 1);
	before = r;
	a = hes_rng_fork(&r, 0);
	b = hes_rng_fork(&r, 1);
	c = hes_rng_fork(&r, 0);
	assert_memory_equal(&r, &before, sizeof(r));
	assert_memory_equal(&a, &c, sizeof(a));
	assert_memory_not_equal(&a, &b, sizeof(a));
	for (int i = 0, same = 0; i < 1000; i++) {
		same += (hes_rng_u64(&a) & 1) == (hes_rng_u64(&b) & 1);
		if (i == 999)
			assert_in_range(same, 400, 600);
	}
}

/* Chi-square over 7 cells, 6 degrees of freedom: 22.5 is exceeded once in 1000 seeds. */
static void check_uniform(const double cells[7])
{
	double chi = 0, expect = DRAWS / 7.0;

	for (int i = 0; i < 7; i++)
		chi += (cells[i] - expect) * (cells[i] - expect) / expect;
	assert_true(chi < 22.5);
}

TEST(below_is_uniform)
{
	double cells[7] = { 0 };
	struct hes_rng r;

	hes_rng_seed(&r, 3);
	for (int i = 0; i < DRAWS; i++)
		cells[hes_rng_below(&r, 7)]++;
	check_uniform(cells);
	for (int i = 0; i < 100; i++)
		assert_int_equal(hes_rng_below(&r, 1), 0);
}

TEST(small_is_uniform)
{
	double cells[7] = { 0 };
	struct hes_rng r;
	int last = 0;

	hes_rng_seed(&r, 3);
	for (int i = 0; i < DRAWS; i++)
		cells[hes_rng_small(&r, 7)]++;
	check_uniform(cells);
	for (int i = 0; i < 100; i++)
		assert_int_equal(hes_rng_small(&r, 1), 0);
	for (int i = 0; i < 10000; i++) {
		const uint32_t v = hes_rng_small(&r, 0x80000001);

		assert_true(v <= 0x80000000);
		last += v > 0x80000000 - 0x80000000 / 1000;
	}
	assert_true(last > 0);
}

/* With n just over half of 2^64 nearly half of the raw values must be drawn again. */
TEST(below_has_no_bias_for_huge_n)
{
	uint64_t n = (UINT64_C(1) << 63) + 1;
	int low = 0;
	struct hes_rng r;

	hes_rng_seed(&r, 4);
	for (int i = 0; i < 10000; i++) {
		uint64_t v = hes_rng_below(&r, n);

		assert_true(v < n);
		low += v < n / 2;
	}
	assert_in_range(low, 4800, 5200);
}

static void moments(double (*draw)(struct hes_rng *), double *mean, double *var)
{
	double sum = 0, squares = 0;
	struct hes_rng r;

	hes_rng_seed(&r, 5);
	for (int i = 0; i < DRAWS; i++) {
		double v = draw(&r);

		sum += v;
		squares += v * v;
	}
	*mean = sum / DRAWS;
	*var = squares / DRAWS - *mean * *mean;
}

static double exponential_of_mean_60(struct hes_rng *r)
{
	return hes_rng_exponential(r, 60);
}

/* Means within five standard errors. */
TEST(distributions_have_their_mean_and_variance)
{
	double mean, var;

	moments(hes_rng_unit, &mean, &var);
	assert_true(fabs(mean - 0.5) < 5 * sqrt(1 / 12.0 / DRAWS));
	assert_true(fabs(var - 1 / 12.0) < 0.001);
	moments(hes_rng_normal, &mean, &var);
	assert_true(fabs(mean) < 5 * sqrt(1.0 / DRAWS));
	assert_true(fabs(var - 1) < 0.02);
	moments(exponential_of_mean_60, &mean, &var);
	assert_true(fabs(mean - 60) < 5 * 60 * sqrt(1.0 / DRAWS));
	assert_true(fabs(var / 3600 - 1) < 0.04);
}

TEST(unit_stays_below_one)
{
	struct hes_rng top = { { 0, UINT64_MAX, 0, 0 } };
	struct hes_rng r;

	assert_true(hes_rng_unit(&top) < 1);
	hes_rng_seed(&r, 6);
	for (int i = 0; i < 10000; i++) {
		double v = hes_rng_unit(&r);

		assert_true(v >= 0 && v < 1);
		assert_true(isfinite(hes_rng_exponential(&r, 1)));
	}
}

/* Every one of the 24 orders of four, 1000 expected each. */
TEST(shuffle_gives_every_order_with_equal_probability)
{
	int seen[256] = { 0 }, orders = 0;
	struct hes_rng r;

	hes_rng_seed(&r, 7);
	for (int i = 0; i < 24000; i++) {
		uint32_t v[4] = { 0, 1, 2, 3 };

		hes_rng_shuffle(&r, v, 4);
		seen[v[0] | v[1] << 2 | v[2] << 4 | v[3] << 6]++;
	}
	for (int i = 0; i < 256; i++) {
		orders += seen[i] > 0;
		if (seen[i])
			assert_in_range(seen[i], 850, 1150);
	}
	assert_int_equal(orders, 24);
	hes_rng_shuffle(&r, NULL, 0);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
