/*
 * test_arbiter_powers.c - powers and joules on a virtual clock: how new tenants are measured and
 * what that costs others, what the counter says of leases, and work that no lease covers.
 */
#include <math.h>

#include "arbiter_bench.h"
#include "unit_test.h"

#define CASES 50

static struct bench b;

/* Tenants of 100 W and 300 W with equal energy have 3 to 1 of the time: their powers are found in
 * turns that are charged as any other. */
TEST(powers_are_measured_in_charged_turns)
{
	const double slices[] = { 3, 1 };
	struct arbiter_config c = bench_config();

	c.queue.policy = hes_fair_policy_find("energy", NULL);
	c.profile_ns = 5 * BENCH_SECOND;
	bench_open(&b, &c, 14);
	b.refresh_ns = 100 * BENCH_MS;
	bench_ready(&b, b.refresh_ns);
	bench_add(&b, "small", 1, 0);
	bench_add(&b, "large", 1, 0);
	b.c[0].draws_w = 100;
	b.c[1].draws_w = 300;
	bench_run(&b, 15 * BENCH_SECOND);
	assert_int_equal(b.notes[ARBITER_PROFILED], 2);
	assert_true(b.n_kept >= 2);
	bench_status(&b);
	assert_true(fabs(bench_row(&b, "small")->power_w / 100 - 1) < 0.03);
	assert_true(fabs(bench_row(&b, "large")->power_w / 300 - 1) < 0.03);
	bench_take_used(&b, 0);
	bench_take_used(&b, 1);
	bench_run(&b, 30 * BENCH_SECOND);
	bench_shares_are(&b, slices, 2, 0.03);
	bench_status(&b);
	assert_true(b.gpu.fairness_energy > 0.9);
	assert_int_equal(b.rows[0].power_source, FAIR_POWER_KNOWN);
	bench_close(&b);
}

/* A sweep starts next to a running tenant. All are measured, no tenant waits for that: no longer
 * than two intervals or one turn of five refreshes, and the running tenant has its share. Who has
 * long kernels pays for them by waiting. */
TEST(newcomers_are_measured_while_others_have_their_turns)
{
	static const uint64_t refreshes[] = { 20, 100, 200 };

	for (uint64_t k = 0; k < CASES; k++) {
		struct arbiter_config c = bench_config();
		const uint64_t interval = c.queue.interval * c.queue.quantum_ns;
		const uint64_t refresh = refreshes[k % 3] * BENCH_MS;
		const uint64_t bound = 5 * refresh > 2 * interval ? 5 * refresh : 2 * interval;
		const uint32_t n = 1 + (uint32_t)k % 8;
		const bool of_another_user = k % 5 == 4;

		c.queue.policy = hes_fair_policy_find("time", NULL);
		c.profile_ns = 5 * BENCH_SECOND;
		bench_open(&b, &c, k);
		b.refresh_ns = refresh;
		b.switch_ns = hes_rng_below(&b.rng, BENCH_MS / 2);
		bench_ready(&b, refresh);
		bench_add(&b, "runs", 1, 200);
		for (uint32_t i = 1; i <= n; i++) {
			char name[8];

			snprintf(name, sizeof(name), "new%u", i);
			bench_add(&b, name, 1, 0);
			b.c[i].draws_w = 100 + 300 * hes_rng_unit(&b.rng);
			b.c[i].kernel_ns = hes_rng_below(&b.rng, 30 * BENCH_MS);
			b.c[i].comes_ns = b.now + 5 * BENCH_SECOND;
			b.c[i].comes_ns += k & 1 ? hes_rng_below(&b.rng, BENCH_SECOND) : 0;
			b.c[i].uid += of_another_user;
		}
		bench_run(&b, 6 * BENCH_SECOND);
		bench_take_used(&b, 0);
		for (int window = 0; window < 10; window++) {
			bench_run(&b, 10 * BENCH_SECOND);
			assert_true(bench_take_used(&b, 0) * (of_another_user ? 2 : n + 1) >=
				    9 * BENCH_SECOND);
		}
		bench_status(&b);
		for (uint32_t i = 0; i <= n; i++) {
			const double watts = bench_row(&b, b.c[i].tenant)->power_w;

			if (b.c[i].kernel_ns < 4 * BENCH_MS)
				assert_true(b.c[i].longest_wait_ns <= bound);
			assert_true(fabs(watts / b.c[i].draws_w - 1) < 0.03);
		}
		bench_close(&b);
	}
}

/* What the store knows of a tenant is used from its first turn, and nothing is measured. */
TEST(a_tenant_that_the_store_knows_has_no_long_turn)
{
	struct arbiter_config c = bench_config();

	c.queue.policy = hes_fair_policy_find("energy", NULL);
	c.profile_ns = 5 * BENCH_SECOND;
	bench_open(&b, &c, 14);
	b.refresh_ns = 100 * BENCH_MS;
	bench_ready(&b, b.refresh_ns);
	bench_add(&b, "runs", 1, 100);
	bench_add(&b, "known", 1, 300);
	b.c[1].comes_ns = b.now + BENCH_SECOND;
	bench_run(&b, BENCH_SECOND + 2 * BENCH_MS);
	assert_int_equal(b.c[1].leases, 1);
	for (int i = 0; i < 5000; i++) {
		assert_int_equal(b.c[1].slice_ns, 50 * BENCH_MS);
		bench_run(&b, BENCH_MS);
	}
	bench_close(&b);
}

/* A new name does not pay for the long turn of the one before it. */
TEST(a_user_gains_nothing_by_new_names_that_are_measured)
{
	uint64_t cheat = 0;
	struct arbiter_config c = bench_config();

	c.queue.policy = hes_fair_policy_find("time", NULL);
	c.profile_ns = 5 * BENCH_SECOND;
	bench_open(&b, &c, 9);
	b.refresh_ns = 100 * BENCH_MS;
	bench_ready(&b, b.refresh_ns);
	bench_add(&b, "honest", 1, 200);
	for (uint32_t i = 0; i < 60; i++) {
		char name[16];

		snprintf(name, sizeof(name), "cheat%u", i);
		bench_add(&b, name, 1, 0);
		b.c[i + 1].draws_w = 200;
		b.c[i + 1].uid = 1001;
		b.c[i + 1].comes_ns = b.now + i * 700 * BENCH_MS;
		b.c[i + 1].goes_ns = b.now + (i + 1) * 700 * BENCH_MS - 1;
	}
	bench_run(&b, 42 * BENCH_SECOND);
	for (uint32_t i = 1; i <= 60; i++)
		cheat += b.c[i].used_ns;
	print_message("# a user with new names has %.3f of the time\n", (double)cheat / 42e9);
	assert_true((double)cheat < 0.55 * 42e9);
	bench_close(&b);
}

/* A lease of 5 refreshes or more is measured: its joules are the counter's. */
TEST(long_leases_are_measured_by_the_counter)
{
	const struct fair_tenant_row *r;

	bench_open(&b, NULL, 15);
	b.refresh_ns = 20 * BENCH_MS;
	bench_ready(&b, b.refresh_ns);
	bench_add(&b, "one", 1, 150);
	b.c[0].draws_w = 220;
	bench_run(&b, 20 * BENCH_SECOND);
	bench_status(&b);
	bench_run(&b, BENCH_MS);
	bench_status(&b);
	r = bench_row(&b, "one");
	assert_int_equal(r->power_source, FAIR_POWER_MEASURED);
	assert_true(fabs(r->energy_j / (220 * 20) - 1) < 0.03);
	assert_true(fabs(r->power_w / 220 - 1) < 0.02);
	assert_true(fabs(b.gpu.energy_j / (220 * 20) - 1) < 0.03);
	bench_close(&b);
}

/* Without its driver a GPU is shared on by the powers that are known. */
TEST(a_gpu_whose_driver_hangs_is_still_shared)
{
	const double slices[] = { 2, 1 };
	struct arbiter_config c = bench_config();

	c.queue.policy = hes_fair_policy_find("energy", NULL);
	c.profile_ns = 5 * BENCH_SECOND;
	bench_open(&b, &c, 18);
	b.refresh_ns = 100 * BENCH_MS;
	bench_ready(&b, b.refresh_ns);
	bench_add(&b, "small", 1, 100);
	bench_add(&b, "large", 1, 200);
	b.c[0].clock_mhz = 600;
	bench_run(&b, 3 * BENCH_SECOND);
	bench_report(&b, (struct arbiter_report){ .kind = REPORT_GONE, .text = "no answer" });
	bench_report(&b, (struct arbiter_report){ .kind = REPORT_GONE, .text = "no answer" });
	assert_int_equal(b.notes[ARBITER_GPU_GONE], 1);
	bench_take_used(&b, 0);
	bench_take_used(&b, 1);
	bench_run(&b, 20 * BENCH_SECOND);
	bench_shares_are(&b, slices, 2, 0.02);
	bench_status(&b);
	assert_int_equal(bench_row(&b, "small")->power_source, FAIR_POWER_KNOWN);
	bench_close(&b);
}

/* A process without a connection draws 100 W. It is named at its second look, nobody pays for its
 * joules, and nobody knows what is fair. */
TEST(work_outside_of_leases_is_seen_and_not_charged)
{
	struct arbiter_process outside[] = {
		{ .id = { 1, 1 }, .uid = 7, .name = "a\033name" },
		{ .id = { 100, 50 }, .name = "tenant" },
		{ .id = { 7, 60 },
		  .name = "forked",
		  .forked_from = { { 8, 55 }, { 100, 50 } },
		  .n_forked = 2 },
	};
	double had_j;

	bench_open(&b, NULL, 14);
	bench_add(&b, "a", 1, 200);
	bench_ready(&b, 20 * BENCH_MS);
	b.refresh_ns = 20 * BENCH_MS;
	b.c[0].draws_w = 200;
	bench_run(&b, 5 * BENCH_SECOND);
	bench_status(&b);
	assert_true(b.gpu.fairness_system == 1 && b.gpu.total_system == 1);
	had_j = bench_row(&b, "a")->energy_j;
	bench_processes(&b, outside, 3);
	bench_status(&b);
	assert_int_equal(b.n_not_held, 0);
	bench_processes(&b, outside, 3);
	b.idle_w += 100;
	bench_run(&b, 5 * BENCH_SECOND);
	bench_status(&b);
	assert_int_equal(b.n_not_held, 1);
	assert_int_equal(b.not_held[0].uid * 10 + b.not_held[0].pid, 71);
	assert_string_equal(b.not_held[0].name, "a?name");
	assert_true(isnan(b.gpu.fairness_system) && isnan(b.gpu.total_system));
	had_j = bench_row(&b, "a")->energy_j - had_j;
	print_message("# %.1f W while another process draws 100 W\n", had_j / 5);
	assert_true(fabs(had_j / 5 / bench_row(&b, "a")->power_w - 1) < 0.03);
	assert_true(had_j / 5 < 270);
	bench_processes(&b, NULL, 0);
	bench_run(&b, 5 * BENCH_SECOND);
	bench_status(&b);
	assert_int_equal(b.n_not_held, 0);
	assert_true(b.gpu.fairness_system == 1 && isnan(b.gpu.total_system));
	bench_close(&b);
}

/* Its connection is open still: a process that it was forked from has it. */
TEST(a_new_process_with_the_pid_of_a_tenant_that_is_gone_is_not_held)
{
	struct arbiter_process reused = { .id = { 100, 90 }, .name = "other" };

	bench_open(&b, NULL, 14);
	bench_add(&b, "a", 1, 200);
	bench_run(&b, BENCH_SECOND);
	bench_processes(&b, &reused, 1);
	bench_processes(&b, &reused, 1);
	bench_status(&b);
	assert_int_equal(b.n_not_held, 1);
	bench_close(&b);
}

/* A newcomer has no long turn that would measure nothing, and is measured once the process is idle.
 */
TEST(no_tenant_is_measured_while_a_process_that_is_not_held_works)
{
	struct arbiter_process outside = { .id = { 1, 1 } };
	struct arbiter_config c = bench_config();

	c.queue.policy = hes_fair_policy_find("time", NULL);
	c.profile_ns = 5 * BENCH_SECOND;
	bench_open(&b, &c, 14);
	b.refresh_ns = 100 * BENCH_MS;
	bench_ready(&b, b.refresh_ns);
	bench_add(&b, "runs", 1, 200);
	bench_add(&b, "new", 1, 0);
	b.c[1].draws_w = 300;
	bench_processes(&b, &outside, 1);
	bench_processes(&b, &outside, 1);
	for (int i = 0; i < 2000; i++) {
		bench_run(&b, 10 * BENCH_MS);
		assert_true(b.c[1].slice_ns <= 100 * BENCH_MS);
	}
	bench_status(&b);
	assert_int_equal(bench_row(&b, "new")->power_source, FAIR_POWER_ASSUMED);
	assert_true(fabs((double)bench_take_used(&b, 0) - 10e9) < 0.2e9);
	outside.idle = true;
	bench_processes(&b, &outside, 1);
	bench_run(&b, 20 * BENCH_SECOND);
	bench_status(&b);
	assert_int_equal(b.n_not_held, 1);
	assert_true(b.gpu.fairness_time > 0.9);
	assert_true(fabs(bench_row(&b, "new")->power_w / 300 - 1) < 0.03);
	assert_int_equal(b.notes[ARBITER_PROFILED], 1);
	bench_close(&b);
}

/* After its first long turn it has two milliseconds of work now and then. A short turn is an eighth
 * of its slice, so that each of them is charged as eight. */
TEST(a_loan_is_paid_back_by_what_short_turns_use)
{
	struct arbiter_config c = bench_config();
	uint64_t leases;

	c.queue.policy = hes_fair_policy_find("time", NULL);
	c.profile_ns = 5 * BENCH_SECOND;
	bench_open(&b, &c, 14);
	b.refresh_ns = 100 * BENCH_MS;
	bench_ready(&b, b.refresh_ns);
	bench_add(&b, "runs", 1, 200);
	bench_add(&b, "new", 1, 0);
	b.c[1].draws_w = 200;
	while (b.c[1].slice_ns < 200 * BENCH_MS)
		bench_run(&b, BENCH_MS);
	b.c[1].burst_ns = 2 * BENCH_MS;
	b.c[1].left_ns = 0;
	b.c[1].pause_ns = BENCH_MS;
	b.c[0].holds_ns = 5 * BENCH_MS;
	while (b.c[1].state == 2)
		bench_run(&b, BENCH_MS);
	leases = b.c[1].leases;
	bench_run(&b, 200 * BENCH_MS);
	print_message("# %d short turns in 0.2 s\n", (int)(b.c[1].leases - leases));
	assert_true(b.c[1].leases - leases >= 5 && b.c[1].leases - leases <= 10);
	bench_close(&b);
}

/* Its kernels are longer than a short turn. */
TEST(a_tenant_with_long_kernels_pays_all_of_its_loans_back)
{
	struct arbiter_config c = bench_config();
	uint64_t used = 0;

	c.queue.policy = hes_fair_policy_find("time", NULL);
	c.profile_ns = 5 * BENCH_SECOND;
	bench_open(&b, &c, 14);
	b.refresh_ns = 100 * BENCH_MS;
	bench_ready(&b, b.refresh_ns);
	for (uint32_t i = 0; i < 8; i++) {
		char name[8];

		snprintf(name, sizeof(name), "t%u", i);
		bench_add(&b, name, 1, i ? 200 : 0);
		b.c[i].draws_w = 200;
	}
	b.c[0].kernel_ns = 56 * BENCH_MS;
	bench_run(&b, 60 * BENCH_SECOND);
	for (uint32_t i = 1; i < 8; i++)
		used += b.c[i].used_ns / 7;
	print_message("# it has %.3f of the time of another\n",
		      (double)b.c[0].used_ns / (double)used);
	assert_int_equal(b.notes[ARBITER_PROFILED], 1);
	assert_true((double)b.c[0].used_ns < 1.01 * (double)used);
	bench_close(&b);
}

/* Unless the driver says that its process does nothing. */
TEST(fairness_is_unknown_while_a_tenant_is_lost)
{
	struct arbiter_process v[] = {
		{ .id = { 101, 51 }, .idle = true },
		{ .id = { 7, 60 }, .forked_from = { { 101, 51 } }, .n_forked = 1 }
	};

	bench_open(&b, NULL, 14);
	bench_add(&b, "a", 1, 200);
	bench_add(&b, "hangs", 1, 200);
	bench_run(&b, BENCH_SECOND);
	b.c[1].hangs = true;
	bench_run(&b, 20 * BENCH_SECOND);
	bench_status(&b);
	assert_int_equal(bench_row(&b, "hangs")->state, FAIR_LOST);
	assert_true(isnan(b.gpu.fairness_system) && isnan(b.gpu.total_system));
	for (int k = 0; k < 3; k++) {
		v[1].idle = k == 1;
		bench_processes(&b, v, k < 2 ? 2 : 0);
		bench_run(&b, 10 * BENCH_SECOND);
		bench_status(&b);
		assert_int_equal(isnan(b.gpu.fairness_time) != 0, k != 1);
	}
	arbiter_disconnect(b.a, 1, b.now);
	bench_run(&b, 10 * BENCH_SECOND);
	bench_status(&b);
	assert_true(b.gpu.fairness_system == 1 && isnan(b.gpu.total_system));
	bench_close(&b);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
