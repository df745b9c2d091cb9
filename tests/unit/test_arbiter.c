/*
 * test_arbiter.c - modelled programs on a virtual clock share a GPU: shares against slices,
 * arrivals and departures, hangs, deaths, floods, bounds. Powers are in
 * test_arbiter_powers.c, clocks in test_arbiter_clocks.c.
 */
#include <math.h>

#include "arbiter_bench.h"
#include "unit_test.h"

#define CASES RANDOM_CASES(2000)

static struct bench b;

static void slices_of(const struct arbiter_config *c, uint32_t n, double *out)
{
	struct hes_fair_tenant t[BENCH_CLIENTS];
	const struct hes_fair_request r = { c->queue.policy, c->queue.interval, c->queue.phi, t,
					    n };
	uint64_t slices[BENCH_CLIENTS];

	for (uint32_t i = 0; i < n; i++)
		t[i] = (struct hes_fair_tenant){ b.c[i].power_w, b.c[i].weight,
						 HES_FAIR_BACKLOGGED };
	assert_int_equal(hes_fair_slices(&r, slices, NULL), 0);
	for (uint32_t i = 0; i < n; i++)
		out[i] = slices[i] ? (double)slices[i] : 1;
}

TEST(random_tenants_get_the_time_of_their_slices)
{
	double worst_busy = 1;

	for (uint64_t k = 0; k < CASES; k++) {
		struct arbiter_config c = bench_config();
		struct hes_rng rng;
		double slices[8];
		uint32_t n;
		uint64_t sum;

		hes_rng_seed(&rng, k);
		n = 2 + hes_rng_small(&rng, 5);
		c.queue.policy = &hes_fair_policies[hes_rng_small(&rng, 3)];
		c.queue.phi = hes_rng_unit(&rng);
		bench_open(&b, &c, k);
		b.switch_ns = hes_rng_below(&rng, 500000);
		for (uint32_t i = 0; i < n; i++) {
			char name[8];

			snprintf(name, sizeof(name), "t%u", i);
			bench_add(&b, name, 0.5 + 2 * hes_rng_unit(&rng),
				  100 + 300 * hes_rng_unit(&rng));
			b.c[i].kernel_ns = hes_rng_below(&rng, 3 * BENCH_MS);
			b.c[i].lies = hes_rng_small(&rng, 4) == 0;
		}
		slices_of(&c, n, slices);
		bench_run(&b, 20 * BENCH_SECOND);
		sum = bench_shares_are(&b, slices, n, 0.02);
		worst_busy = fmin(worst_busy, (double)sum / (20.0 * BENCH_SECOND));
		bench_close(&b);
	}
	print_message("# busy at least %.4f of the time with switches of up to 0.5 ms\n",
		      worst_busy);
	assert_true(worst_busy >= 0.95);
}

TEST(equal_tenants_have_two_to_one_by_weight)
{
	const double slices[] = { 2, 1 };

	bench_open(&b, NULL, 1);
	bench_add(&b, "heavy", 2, 200);
	bench_add(&b, "light", 1, 200);
	b.switch_ns = 100000;
	bench_run(&b, 30 * BENCH_SECOND);
	assert_true((double)bench_shares_are(&b, slices, 2, 0.01) >= 0.95 * 30e9);
	bench_close(&b);
}

TEST(arrivals_and_departures_settle_within_two_intervals)
{
	for (uint64_t k = 0; k < CASES; k++) {
		struct arbiter_config c = bench_config();
		const uint64_t two = 2 * c.queue.interval * c.queue.quantum_ns;
		const double equal[] = { 1, 1, 1 };

		bench_open(&b, &c, k);
		b.switch_ns = 50000;
		for (uint32_t i = 0; i < 3; i++) {
			char name[8];

			snprintf(name, sizeof(name), "t%u", i);
			bench_add(&b, name, 1, 200);
		}
		/* The third comes after seconds in which two had all of the time, or one had. */
		b.c[1].comes_ns = b.now + (k & 1) * 2 * BENCH_SECOND;
		b.c[2].comes_ns = b.now + 3 * BENCH_SECOND + hes_rng_below(&b.rng, BENCH_SECOND);
		b.c[0].goes_ns = b.now + 20 * BENCH_SECOND;
		bench_run(&b, b.c[2].comes_ns - b.now + two);
		assert_true(b.c[2].used_ns > 0);
		for (uint32_t i = 0; i < 3; i++)
			bench_take_used(&b, i);
		bench_run(&b, 10 * BENCH_SECOND);
		bench_shares_are(&b, equal, 3, 0.02);
		bench_run(&b, b.c[0].goes_ns - b.now + two);
		for (uint32_t i = 0; i < 3; i++)
			bench_take_used(&b, i);
		bench_run(&b, 10 * BENCH_SECOND);
		assert_int_equal(bench_take_used(&b, 0), 0);
		for (uint32_t i = 1; i < 3; i++)
			assert_true(fabs((double)bench_take_used(&b, i) / 10e9 - 0.5) < 0.03);
		bench_close(&b);
	}
}

TEST(a_tenant_that_was_alone_for_long_owes_nothing)
{
	bench_open(&b, NULL, 3);
	bench_add(&b, "old", 1, 200);
	bench_add(&b, "new", 1, 200);
	b.c[1].comes_ns = b.now + 3600 * BENCH_SECOND;
	bench_run(&b, 3600 * BENCH_SECOND);
	assert_int_equal(b.c[0].leases, 1);
	assert_int_equal(b.c[0].slice_ns, 0);
	bench_run(&b, 10 * BENCH_MS);
	assert_int_equal(b.c[0].stops, 1);
	assert_int_equal(b.notes[ARBITER_LOST_LEASE], 0);
	assert_int_equal(b.c[1].leases, 1);
	bench_take_used(&b, 0);
	bench_take_used(&b, 1);
	bench_run(&b, 2 * BENCH_SECOND);
	assert_true(fabs((double)bench_take_used(&b, 0) / 2e9 - 0.5) < 0.06);
	assert_true(b.c[0].longest_wait_ns < 250 * BENCH_MS);
	bench_status(&b);
	assert_int_equal(bench_row(&b, "old")->lost, 0);
	bench_close(&b);
}

/* Patience counts from the STOP, however long the lease was before. */
TEST(a_tenant_that_was_alone_has_all_of_the_patience)
{
	bench_open(&b, NULL, 3);
	bench_add(&b, "old", 1, 200);
	bench_add(&b, "new", 1, 200);
	b.c[0].hangs = true;
	b.c[1].comes_ns = b.now + 3600 * BENCH_SECOND;
	bench_run(&b, 3601 * BENCH_SECOND);
	assert_int_equal(b.c[0].stops, 1);
	assert_int_equal(b.notes[ARBITER_LOST_LEASE], 0);
	bench_run(&b, 2 * BENCH_SECOND);
	assert_int_equal(b.notes[ARBITER_LOST_LEASE], 1);
	bench_close(&b);
}

/* Others may be idle in between, or come and go: nobody waits for more than the slices of the
 * others. */
TEST(a_tenant_with_short_bursts_waits_for_an_interval_at_most)
{
	for (uint64_t k = 0; k < CASES / 4; k++) {
		uint32_t n = 2 + (uint32_t)(k % 5);

		bench_open(&b, NULL, k);
		for (uint32_t i = 0; i < n; i++) {
			char name[8];

			snprintf(name, sizeof(name), "t%u", i);
			bench_add(&b, name, 1, 200);
			if (i) {
				b.c[i].burst_ns = 1 + hes_rng_below(&b.rng, 30 * BENCH_MS);
				b.c[i].pause_ns = hes_rng_below(&b.rng, 50 * BENCH_MS);
			}
		}
		bench_run(&b, 20 * BENCH_SECOND);
		for (uint32_t i = 0; i < n; i++) {
			assert_true(b.c[i].leases > 20);
			assert_true(b.c[i].longest_wait_ns < 450 * BENCH_MS);
		}
		bench_close(&b);
	}
}

TEST(processes_of_one_name_share_its_slice)
{
	const double slices[] = { 1, 1, 2 };

	bench_open(&b, NULL, 5);
	bench_add(&b, "pair", 1, 200);
	bench_add(&b, "pair", 1, 200);
	bench_add(&b, "one", 1, 200);
	bench_run(&b, 30 * BENCH_SECOND);
	bench_shares_are(&b, slices, 3, 0.02);
	bench_status(&b);
	assert_int_equal(b.n_rows, 2);
	assert_int_equal(bench_row(&b, "pair")->processes, 2);
	/* When one of both dies the other has the tenant's whole slice. */
	b.c[0].goes_ns = b.now;
	bench_run(&b, BENCH_SECOND);
	bench_take_used(&b, 1);
	bench_take_used(&b, 2);
	bench_run(&b, 10 * BENCH_SECOND);
	assert_true(fabs((double)bench_take_used(&b, 1) / 10e9 - 0.5) < 0.02);
	bench_close(&b);
}

TEST(two_processes_of_the_only_tenant_take_turns)
{
	const double slices[] = { 1, 1 };

	bench_open(&b, NULL, 6);
	bench_add(&b, "pair", 1, 200);
	bench_add(&b, "pair", 1, 200);
	bench_run(&b, 30 * BENCH_SECOND);
	bench_shares_are(&b, slices, 2, 0.02);
	bench_close(&b);
}

TEST(a_lease_that_is_not_released_is_lost_and_charged)
{
	const struct fair_tenant_row *r;

	bench_open(&b, NULL, 7);
	bench_add(&b, "hangs", 1, 200);
	bench_add(&b, "works", 1, 200);
	b.c[0].hangs = true;
	bench_run(&b, 23 * BENCH_SECOND / 10);
	assert_int_equal(b.notes[ARBITER_LOST_LEASE], 1);
	assert_int_equal(b.c[0].leases, 1);
	bench_status(&b);
	r = bench_row(&b, "hangs");
	assert_int_equal(r->state, FAIR_LOST);
	assert_int_equal(r->lost, 1);
	assert_true(r->time_ns >= 2 * BENCH_SECOND);
	/* It wakes up: its late RELEASE counts, and it pays back what it held. */
	b.c[0].hangs = false;
	b.c[0].next_ns = b.now;
	bench_take_used(&b, 1);
	bench_run(&b, BENCH_SECOND);
	assert_int_equal(b.c[0].leases, 1);
	assert_true(bench_take_used(&b, 1) > 99 * BENCH_SECOND / 100);
	bench_run(&b, 8 * BENCH_SECOND);
	assert_true(b.c[0].leases > 10);
	bench_close(&b);
}

TEST(death_in_a_lease_frees_the_gpu_at_once)
{
	bench_open(&b, NULL, 8);
	bench_add(&b, "dies", 1, 200);
	bench_add(&b, "lives", 1, 200);
	b.c[0].hangs = true;
	b.c[0].goes_ns = b.now + 50 * BENCH_MS;
	bench_run(&b, BENCH_SECOND);
	assert_int_equal(b.notes[ARBITER_LOST_LEASE], 0);
	assert_true(bench_take_used(&b, 1) >= 930 * BENCH_MS);
	bench_close(&b);
}

TEST(a_new_connection_does_not_clear_a_debt)
{
	uint64_t cheat = 0;

	bench_open(&b, NULL, 9);
	bench_add(&b, "honest", 1, 200);
	for (uint32_t i = 0; i < 60; i++) {
		bench_add(&b, "cheat", 1, 200);
		b.c[i + 1].hangs = true;
		b.c[i + 1].comes_ns = b.now + i * 500 * BENCH_MS;
		b.c[i + 1].goes_ns = b.now + (i + 1) * 500 * BENCH_MS - 1;
	}
	bench_run(&b, 30 * BENCH_SECOND);
	for (uint32_t i = 1; i <= 60; i++)
		cheat += b.c[i].used_ns;
	assert_true((double)cheat < 0.52 * 30e9);
	bench_close(&b);
}

TEST(a_new_name_does_not_clear_the_debt_of_its_user)
{
	uint64_t cheat = 0;

	bench_open(&b, NULL, 9);
	bench_add(&b, "honest", 1, 200);
	for (uint32_t i = 0; i < 60; i++) {
		char name[16];

		snprintf(name, sizeof(name), "cheat%u", i);
		bench_add(&b, name, 1, 200);
		b.c[i + 1].uid = 1001;
		b.c[i + 1].hangs = true;
		b.c[i + 1].comes_ns = b.now + i * 500 * BENCH_MS;
		b.c[i + 1].goes_ns = b.now + (i + 1) * 500 * BENCH_MS - 1;
	}
	/* A third user comes to no harm. */
	bench_add(&b, "other", 1, 200);
	b.c[61].comes_ns = b.now + 25 * BENCH_SECOND;
	b.c[61].uid = 1002;
	bench_run(&b, 25 * BENCH_SECOND);
	for (uint32_t i = 1; i <= 60; i++)
		cheat += b.c[i].used_ns;
	print_message("# a user with a name for each connection has %.3f of the time\n",
		      (double)cheat / 25e9);
	assert_true((double)cheat < 0.55 * 25e9);
	bench_run(&b, 5 * BENCH_SECOND);
	assert_true(b.c[61].longest_wait_ns < 700 * BENCH_MS);
	bench_close(&b);
}

static void add_users_of_1_and_64_names(bool hang)
{
	bench_add(&b, "one", 1, 200);
	b.c[0].uid = 1001;
	for (uint32_t i = 1; i <= 64; i++) {
		char name[16];

		snprintf(name, sizeof(name), "name%u", i);
		bench_add(&b, name, 1, 200);
		b.c[i].uid = 1002;
		b.c[i].hangs = hang;
	}
}

/* Also where they never release, so that each lease lasts as long as the patience. */
TEST(a_user_with_64_names_has_half_of_the_time)
{
	for (int hang = 0; hang < 2; hang++) {
		uint64_t one, all;

		bench_open(&b, NULL, 10);
		add_users_of_1_and_64_names(hang);
		bench_run(&b, 100 * BENCH_SECOND);
		bench_status(&b);
		one = bench_row(&b, "one")->time_ns;
		all = b.gpu.used_ns;
		print_message("# one name: %.4f of the time\n", (double)one / (double)all);
		assert_true(fabs((double)one / (double)all - 0.5) < 0.02);
		bench_close(&b);
	}
}

TEST(users_have_the_weights_that_the_administrator_sets)
{
	const struct arbiter_user_weight weights[] = { { 1001, 3 } };
	struct arbiter_config c = bench_config();
	const double slices[] = { 3, 0.5, 0.5 };

	c.user_weights = weights;
	c.n_user_weights = 1;
	bench_open(&b, &c, 10);
	bench_add(&b, "one", 1, 200);
	bench_add(&b, "two", 1, 200);
	bench_add(&b, "three", 1, 200);
	b.c[0].uid = 1001;
	bench_run(&b, 20 * BENCH_SECOND);
	bench_shares_are(&b, slices, 3, 0.02);
	assert_int_equal(bench_set(&b, 0, NAN, "", 9), -EINVAL);
	b.set_uid = 1001;
	assert_int_equal(bench_set(&b, 1001, NAN, "", 9), -EPERM);
	assert_int_equal(bench_set(&b, 0, NAN, "", 0), -EINVAL);
	assert_int_equal(bench_set(&b, 0, NAN, "", 1), 0);
	b.set_uid = 1000;
	assert_int_equal(bench_set(&b, 0, NAN, "", 1. / 3), 0);
	bench_run(&b, BENCH_SECOND);
	for (uint32_t i = 0; i < 3; i++)
		bench_take_used(&b, i);
	bench_run(&b, 20 * BENCH_SECOND);
	bench_shares_are(&b, slices, 3, 0.02);
	bench_status(&b);
	assert_true(bench_row(&b, "one")->user_weight == 1);
	assert_true(fabs(bench_row(&b, "two")->user_weight - 1. / 3) < 1e-15);
	/* Time and energy are divided by the weights of users and tenants. */
	assert_true(b.gpu.fairness_system > 0.9);
	bench_close(&b);
}

TEST(other_users_have_weights_up_to_a_bound)
{
	struct arbiter_config c = bench_config();

	c.max_weight = 2;
	bench_open(&b, &c, 9);
	bench_add(&b, "heavy", 1e6, 200);
	bench_add(&b, "allowed", 2, 200);
	bench_add(&b, "owner", 1e6, 200);
	bench_add(&b, "root", 3, 200);
	b.c[0].uid = b.c[1].uid = 1001;
	b.c[3].uid = 0;
	bench_run(&b, BENCH_SECOND);
	assert_int_equal(b.c[0].refused, -EPERM);
	for (uint32_t i = 1; i < 4; i++)
		assert_int_equal(b.c[i].refused, 0);
	assert_int_equal(bench_set(&b, 0, NAN, "allowed", 100), 0);
	bench_status(&b);
	assert_true(bench_row(&b, "allowed")->weight == 100);
	bench_close(&b);
}

/* Many short leases, with a GPU time of nothing, of next to nothing, or of what was used. */
TEST(short_leases_are_charged_in_full)
{
	const double slices[] = { 1, 1 };

	for (uint64_t k = 0; k < 12; k++) {
		static const uint64_t holds[] = { 50000, 500000, 990000, 5 * BENCH_MS };

		bench_open(&b, NULL, k);
		bench_add(&b, "cheat", 1, 200);
		bench_add(&b, "victim", 1, 200);
		b.c[0].holds_ns = holds[k % 4];
		b.c[0].lies = k / 4 < 2;
		b.c[0].reports_ns = k / 4;
		bench_run(&b, 10 * BENCH_SECOND);
		bench_shares_are(&b, slices, 2, 0.03);
		bench_close(&b);
	}
}

TEST(a_flooding_client_is_closed)
{
	union fair_message m;
	size_t length = fair_wire_begin(&m, FAIR_WANT);

	bench_open(&b, NULL, 10);
	bench_add(&b, "floods", 1, 200);
	bench_add(&b, "works", 1, 200);
	bench_run(&b, BENCH_SECOND);
	for (int i = 0; i < 19000; i++)
		arbiter_message(b.a, 0, &m, length, b.now);
	assert_false(b.c[0].closed);
	for (int i = 0; i < 2000; i++)
		arbiter_message(b.a, 0, &m, length, b.now);
	assert_true(b.c[0].closed);
	assert_int_equal(b.notes[ARBITER_FLOOD], 1);
	bench_take_used(&b, 1);
	bench_run(&b, BENCH_SECOND);
	assert_true(bench_take_used(&b, 1) > 990 * BENCH_MS);
	bench_close(&b);
}

TEST(a_wrong_packet_ends_only_its_connection)
{
	static const char junk[] = "no packet";
	union fair_message m;

	bench_open(&b, NULL, 11);
	for (uint32_t i = 0; i < 6; i++) {
		char name[8];

		snprintf(name, sizeof(name), "t%u", i);
		bench_add(&b, name, i == 5 ? NAN : 1, 200);
	}
	bench_run(&b, BENCH_SECOND);
	assert_int_equal(b.c[5].refused, -EINVAL);
	arbiter_message(b.a, 0, junk, sizeof(junk), b.now);
	arbiter_message(b.a, 1, &m, 0, b.now);
	arbiter_message(b.a, 2, &m, fair_wire_begin(&m, FAIR_GRANT), b.now);
	fair_wire_begin(&m, FAIR_WANT);
	m.head.version++;
	arbiter_message(b.a, 3, &m, sizeof(m.head), b.now);
	assert_int_equal(b.c[3].refused, -EPROTONOSUPPORT);
	assert_int_equal(b.c[3].version, FAIR_WIRE_VERSION + 1);
	for (uint32_t i = 0; i < 4; i++)
		assert_true(b.c[i].closed);
	bench_take_used(&b, 4);
	bench_run(&b, BENCH_SECOND);
	assert_true(bench_take_used(&b, 4) > 990 * BENCH_MS);
	bench_close(&b);
}

TEST(an_arbiter_says_that_it_is_alive)
{
	union fair_message m;

	bench_open(&b, NULL, 12);
	bench_add(&b, "t", 1, 200);
	bench_run(&b, BENCH_SECOND);
	arbiter_message(b.a, 0, &m, fair_wire_begin(&m, FAIR_PING), b.now);
	assert_int_equal(b.c[0].pongs, 1);
	/* Only tenants ask. */
	arbiter_connect(b.a, 1, 1000, &(struct hes_process){ 1, 0 }, b.now);
	arbiter_message(b.a, 1, &m, fair_wire_begin(&m, FAIR_PING), b.now);
	assert_true(b.c[1].closed && !b.c[1].pongs);
	bench_close(&b);
}

/* Also where the store has no room for a while, and where readings come after the tenant left. */
TEST(what_tenants_have_used_is_kept)
{
	uint64_t used[3];

	bench_open(&b, NULL, 12);
	b.refresh_ns = 20 * BENCH_MS;
	for (uint32_t i = 0; i < 3; i++)
		bench_add(&b, "t", 1, 100 + 50 * i);
	b.c[1].uid = 1001;
	b.c[2].uid = 1002;
	b.c[1].goes_ns = b.now + 50 * BENCH_SECOND;
	bench_run(&b, 40 * BENCH_SECOND);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(b.c[i].kept_s > 1);
	b.store_is_full = true;
	bench_run(&b, 40 * BENCH_SECOND);
	b.store_is_full = false;
	arbiter_keep(b.a, b.now);
	bench_status(&b);
	for (uint32_t i = 0; i < 3; i++) {
		const struct fair_tenant_row *r = &b.rows[i];
		const struct bench_client *c = &b.c[r->uid == 1000 ? 0 : r->uid - 1000];

		used[i] = (uint64_t)(c->kept_s * 1e9 + 0.5);
		assert_int_equal(used[i] / 1000, r->time_ns / 1000);
		assert_true(fabs(c->kept_j / r->energy_j - 1) < 1e-9);
	}
	bench_close(&b);
}

TEST(what_was_used_is_kept_before_powers_where_not_all_has_room)
{
	bench_open(&b, NULL, 12);
	b.refresh_ns = 10 * BENCH_MS;
	bench_ready(&b, b.refresh_ns);
	for (uint32_t i = 0; i < 3; i++) {
		char name[8];

		snprintf(name, sizeof(name), "t%u", i);
		bench_add(&b, name, 1, 100);
		b.c[i].draws_w = 200;
	}
	bench_run(&b, 5 * BENCH_SECOND);
	b.n_kept = 0;
	b.store_room = 4;
	arbiter_keep(b.a, b.now);
	bench_status(&b);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(fabs(b.c[i].kept_s * 1e9 -
				 (double)bench_row(&b, b.c[i].tenant)->time_ns) < 1e3);
	assert_int_equal(b.n_kept, 0);
	b.store_room = 0;
	arbiter_keep(b.a, b.now);
	assert_int_equal(b.n_kept, 3);
	bench_close(&b);
}

TEST(users_with_weights_leave_room_for_all_that_connect)
{
	bench_open(&b, NULL, 12);
	for (b.set_uid = 5000; b.set_uid < 5000 + BENCH_CLIENTS; b.set_uid++)
		assert_int_equal(bench_set(&b, 0, NAN, "", 2), 0);
	assert_int_equal(bench_set(&b, 0, NAN, "", 2), -ENOSPC);
	b.set_uid = 5000;
	assert_int_equal(bench_set(&b, 0, NAN, "", 3), 0);
	assert_int_equal(bench_set(&b, 0, NAN, "", 1), 0);
	b.set_uid = 6000;
	assert_int_equal(bench_set(&b, 0, NAN, "", 2), 0);
	for (uint32_t i = 0; i < BENCH_CLIENTS - 1; i++) {
		bench_add(&b, "t", 1, 200);
		b.c[i].uid = 7000 + i;
	}
	bench_run(&b, BENCH_SECOND);
	for (uint32_t i = 0; i < BENCH_CLIENTS - 1; i++)
		assert_int_equal(b.c[i].refused, 0);
	bench_close(&b);
}

TEST(connections_of_a_user_are_bounded)
{
	struct arbiter_config c = bench_config();

	c.per_user = 3;
	bench_open(&b, &c, 12);
	for (uint32_t i = 0; i < 5; i++)
		bench_add(&b, "t", 1, 200);
	b.c[4].uid = 1001;
	bench_run(&b, BENCH_SECOND);
	assert_int_equal(b.c[3].refused, -EUSERS);
	assert_int_equal(b.c[4].refused, 0);
	bench_close(&b);
}

TEST(connections_are_kept_for_root_and_the_owner)
{
	struct arbiter_config c = bench_config();

	c.kept = BENCH_CLIENTS - 8;
	c.per_user = 3;
	bench_open(&b, &c, 12);
	for (uint32_t i = 0; i < 11; i++) {
		bench_add(&b, "t", 1, 200);
		b.c[i].uid = 2000 + i / 3;
	}
	/* Tenants of root are no more than others. */
	b.c[9].uid = b.c[10].uid = 0;
	b.c[10].comes_ns += BENCH_SECOND;
	bench_run(&b, 2 * BENCH_SECOND);
	for (uint32_t i = 0; i < 11; i++)
		assert_int_equal(b.c[i].refused, i < 8 ? 0 : -EUSERS);
	assert_int_equal(bench_set(&b, 0, 0.1, "", NAN), 0);
	assert_int_equal(bench_set(&b, 1000, 0.2, "", NAN), 0);
	arbiter_disconnect(b.a, 0, b.now);
	b.c[8].closed = b.c[8].connected = false;
	b.c[8].comes_ns = b.now;
	b.c[8].refused = 0;
	bench_run(&b, BENCH_SECOND);
	assert_int_equal(b.c[8].refused, 0);
	bench_close(&b);
}

TEST(settings_are_for_the_owner_and_root)
{
	const double slices[] = { 3, 1 };

	bench_open(&b, NULL, 13);
	bench_add(&b, "a", 1, 200);
	bench_add(&b, "b", 1, 200);
	bench_run(&b, BENCH_SECOND);
	assert_int_equal(bench_set(&b, 1001, 0.1, "", NAN), -EPERM);
	assert_int_equal(bench_set(&b, 1000, 1.1, "", NAN), -EINVAL);
	assert_int_equal(bench_set(&b, 1000, NAN, "nobody", 2), -ENOENT);
	assert_int_equal(bench_set(&b, 1000, NAN, "a", 0), -EINVAL);
	assert_int_equal(bench_set(&b, 1000, 0.5, "", NAN), 0);
	assert_int_equal(bench_set(&b, 0, NAN, "a", 3), 0);
	bench_status(&b);
	assert_true(b.gpu.phi == 0.5);
	assert_true(bench_row(&b, "a")->weight == 3);
	bench_take_used(&b, 0);
	bench_take_used(&b, 1);
	bench_run(&b, 30 * BENCH_SECOND);
	bench_shares_are(&b, slices, 2, 0.02);
	bench_close(&b);
}

/* What was fair by the weights of its time stays so. */
TEST(a_new_weight_does_not_change_how_earlier_time_is_judged)
{
	struct arbiter_config c = bench_config();

	c.queue.policy = hes_fair_policy_find("time", NULL);
	bench_open(&b, &c, 13);
	bench_add(&b, "a", 1, 200);
	bench_add(&b, "b", 1, 200);
	bench_add(&b, "c", 1, 200);
	b.c[2].uid = 1001;
	bench_run(&b, 10 * BENCH_SECOND);
	for (int i = 0; i < 2; i++) {
		if (i)
			assert_int_equal(bench_set(&b, 0, NAN, "a", 4), 0);
		b.set_uid = i ? 1001 : FAIR_ANY_USER;
		if (i)
			assert_int_equal(bench_set(&b, 0, NAN, "", 3), 0);
		bench_status(&b);
		print_message("# fairness %.3f, %.3f\n", b.gpu.fairness_system, b.gpu.total_system);
		assert_true(b.gpu.fairness_system > 0.9 && b.gpu.total_system > 0.98);
	}
	bench_run(&b, 10 * BENCH_SECOND);
	bench_status(&b);
	print_message("# fairness %.3f, %.3f\n", b.gpu.fairness_system, b.gpu.total_system);
	assert_true(b.gpu.fairness_system > 0.9 && b.gpu.total_system > 0.98);
	bench_close(&b);
}

TEST(a_weight_is_set_for_the_tenant_of_one_user)
{
	bench_open(&b, NULL, 13);
	bench_add(&b, "a", 1, 200);
	bench_add(&b, "a", 1, 200);
	bench_add(&b, "b", 1, 200);
	b.c[1].uid = 1001;
	bench_run(&b, BENCH_SECOND);
	assert_int_equal(bench_set(&b, 0, NAN, "a", 3), -EINVAL);
	assert_string_equal(b.answer.text,
			    "--user is missing: users 1000 and 1001 have a tenant \"a\" each");
	assert_int_equal(bench_set(&b, 0, NAN, "b", 2), 0);
	b.set_uid = 1002;
	assert_int_equal(bench_set(&b, 0, NAN, "a", 3), -ENOENT);
	b.set_uid = 1001;
	assert_int_equal(bench_set(&b, 0, NAN, "a", 3), 0);
	bench_status(&b);
	assert_int_equal(b.n_rows, 3);
	for (size_t i = 0; i < b.n_rows; i++)
		assert_true(b.rows[i].weight == (b.rows[i].uid == 1001        ? 3
						 : b.rows[i].tenant[0] == 'b' ? 2
									      : 1));
	bench_close(&b);
}

TEST(a_name_that_is_not_utf_8_is_refused)
{
	bench_open(&b, NULL, 19);
	bench_add(&b, "", 1, 100);
	bench_add(&b, "\xff\xfe", 1, 100);
	bench_add(&b, "na\xc3\xafve", 1, 100);
	bench_run(&b, BENCH_SECOND);
	assert_int_equal(b.c[0].refused, -EINVAL);
	assert_int_equal(b.c[1].refused, -EINVAL);
	assert_int_equal(b.c[2].refused, 0);
	bench_close(&b);
}

/* Tenants of all kinds come, leave, hang and die. One holds the GPU at a time, and every waiting
 * tenant gets it. */
TEST(random_histories_keep_one_lease_at_a_time)
{
	for (uint64_t k = 0; k < CASES / 4; k++) {
		struct arbiter_config c = bench_config();

		c.profile_ns = k & 1 ? BENCH_SECOND : 0;
		bench_open(&b, &c, 1000 + k);
		b.refresh_ns = 20 * BENCH_MS;
		b.clock_ns = hes_rng_below(&b.rng, 4 * BENCH_MS);
		bench_ready(&b, b.refresh_ns);
		for (uint32_t i = 0; i < 20; i++) {
			char name[8];
			struct bench_client *t;

			snprintf(name, sizeof(name), "t%u", hes_rng_small(&b.rng, 12));
			t = &b.c[bench_add(&b, name, 0.5 + hes_rng_unit(&b.rng),
					   hes_rng_small(&b.rng, 2) ? 0 : 200)];
			t->draws_w = 50 + 300 * hes_rng_unit(&b.rng);
			t->hangs = hes_rng_small(&b.rng, 10) == 0;
			t->clock_mhz = hes_rng_small(&b.rng, 3) * 300;
			t->kernel_ns = hes_rng_below(&b.rng, 20 * BENCH_MS);
			t->comes_ns = b.now + hes_rng_below(&b.rng, 10 * BENCH_SECOND);
			t->goes_ns = hes_rng_small(&b.rng, 2)
					     ? t->comes_ns + hes_rng_below(&b.rng, 8 * BENCH_SECOND)
					     : 0;
			if (hes_rng_small(&b.rng, 2)) {
				t->burst_ns = 1 + hes_rng_below(&b.rng, 100 * BENCH_MS);
				t->pause_ns = hes_rng_below(&b.rng, 100 * BENCH_MS);
			}
		}
		bench_run(&b, 15 * BENCH_SECOND);
		bench_status(&b);
		assert_true(b.gpu.used_ns <= b.gpu.wanted_ns + 2 * BENCH_MS);
		bench_close(&b);
	}
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
