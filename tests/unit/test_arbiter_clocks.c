/*
 * test_arbiter_clocks.c - the clock of a GPU on a virtual clock: it is that of the tenant which
 * runs, and set back whatever the tenant or the driver does.
 */
#include "arbiter_bench.h"
#include "unit_test.h"

static struct bench b;

/* The GPU is ready, and its first tenant has a clock of 600 MHz. */
static void open_slow(uint64_t seed)
{
	bench_open(&b, NULL, seed);
	bench_ready(&b, 0);
	bench_add(&b, "slow", 1, 100);
	b.c[0].clock_mhz = 600;
}

TEST(the_gpu_has_the_clock_of_the_running_tenant)
{
	open_slow(16);
	bench_add(&b, "fast", 1, 100);
	b.c[0].goes_ns = b.now + 5 * BENCH_SECOND;
	b.clock_ns = 3 * BENCH_MS;
	for (int i = 0; i < 4000; i++) {
		bench_run(&b, BENCH_MS);
		if (b.holder != UINT32_MAX && b.holder < 2)
			assert_int_equal(b.clock_mhz, b.c[b.holder].clock_mhz);
	}
	bench_run(&b, 2 * BENCH_SECOND);
	assert_int_equal(b.clock_mhz, 0);
	assert_true(b.clocks_set > 20);
	bench_close(&b);
}

TEST(a_driver_that_hangs_sets_no_more_clocks)
{
	open_slow(17);
	b.clock_ns = BENCH_FOREVER;
	bench_run(&b, 5 * BENCH_SECOND);
	assert_int_equal(b.notes[ARBITER_NO_CLOCKS], 1);
	assert_true(bench_take_used(&b, 0) > 19 * BENCH_SECOND / 10);
	bench_close(&b);
}

TEST(a_clock_set_for_a_tenant_that_left_is_reset)
{
	open_slow(17);
	b.c[0].goes_ns = b.now + 5 * BENCH_MS;
	b.clock_ns = 10 * BENCH_MS;
	bench_run(&b, BENCH_SECOND);
	assert_int_equal(b.clocks_set, 2);
	assert_int_equal(b.clock_mhz, 0);
	bench_close(&b);
}

TEST(setting_a_clock_is_retried_after_errors)
{
	open_slow(17);
	b.c[0].goes_ns = b.now + 4 * BENCH_SECOND;
	b.clock_ns = BENCH_MS;
	b.clock_fails = 1;
	b.clock_rc = -EIO;
	bench_run(&b, BENCH_MS + 1);
	/* It runs without its clock; another one comes, so that it has leases with an end. */
	assert_int_equal(b.c[0].leases, 1);
	bench_add(&b, "fast", 1, 100);
	b.c[1].goes_ns = b.c[0].goes_ns;
	bench_run(&b, 3 * BENCH_SECOND);
	assert_true(b.clocks_set > 2);
	/* The last one goes, and unlocking fails three times. */
	b.clock_fails = 3;
	b.clock_rc = -EPERM;
	bench_run(&b, 6 * BENCH_SECOND);
	assert_int_equal(b.clock_fails, 0);
	assert_int_equal(b.clock_mhz, 0);
	assert_int_equal(b.notes[ARBITER_NO_CLOCKS], 0);
	assert_int_equal(b.notes[ARBITER_CLOCK_FAILED], 2);
	bench_close(&b);
}

TEST(without_permission_clocks_are_not_retried)
{
	open_slow(17);
	bench_add(&b, "fast", 1, 100);
	b.clock_fails = 100;
	b.clock_rc = -EPERM;
	bench_run(&b, 5 * BENCH_SECOND);
	assert_int_equal(b.clock_fails, 99);
	assert_int_equal(b.notes[ARBITER_NO_CLOCKS], 1);
	bench_close(&b);
}

/* The driver answers after the wait has ended, and the clock is locked. */
TEST(a_clock_that_is_set_too_late_is_reset)
{
	open_slow(17);
	b.clock_ns = 5 * BENCH_SECOND;
	bench_run(&b, 4 * BENCH_SECOND);
	assert_int_equal(b.notes[ARBITER_NO_CLOCKS], 1);
	b.clock_ns = BENCH_MS;
	bench_run(&b, 4 * BENCH_SECOND);
	assert_int_equal(b.clocks_set, 2);
	assert_int_equal(b.clock_mhz, 0);
	bench_close(&b);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
