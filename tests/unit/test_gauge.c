/*
 * test_gauge.c - joules of a GPU whose counter or power readings are sick.
 *
 * The GPU draws 40 W for 5 s, then 240 W for 10 s; its limit is 300 W. Its counter moves ten times
 * a second and it is read 25 times a second. At 6 s a sensor falls sick.
 */
#include <math.h>

#include "measure/gauge.h"
#include "unit_test.h"

#define IDLE_W    40.0
#define BUSY_W    240.0
#define MOST_W    450.0
#define LEAST_W   10.0
#define OUT(what) (1u << HES_LEFT_OUT_##what)
#define BUSY_S    5.0
#define SICK_S    6.0
#define END_S     15.0
#define REFRESH_S 0.1
#define STEP_S    0.04
#define TRUTH_J   (IDLE_W * BUSY_S + BUSY_W * (END_S - BUSY_S))

static double true_j(double s)
{
	return s < BUSY_S ? IDLE_W * s : IDLE_W * BUSY_S + BUSY_W * (s - BUSY_S);
}

/* A reading takes so long from SICK_S on; its values are of its start and of its end in turn. */
static double took_s;

typedef void sick_fn(struct hes_reading *r, double s);

/* The sums from 0 to END_S. */
static struct hes_measured measure(sick_fn *sick)
{
	struct hes_gauge_sample first = { 0 }, s = { 0 };
	struct hes_measured m = { .seconds = END_S };
	struct hes_gauge g;
	double last_j = 0, took = 0;

	hes_gauge_begin(&g, took_s > 0 ? 1.5 * BUSY_W : MOST_W, LEAST_W);
	for (double i = 0, time_s = 0;
	     time_s<END_S + STEP_S / 2; i++, time_s += took> 0 ? took : STEP_S) {
		const double now_s = time_s + (fmod(i, 2) > 0 ? took : -took) * 0.45;
		struct hes_reading r = { .has = HES_HAS_POWER | HES_HAS_ENERGY };

		r.power_mw = (uint32_t)(1e3 * (now_s < BUSY_S ? IDLE_W : BUSY_W));
		r.energy_mj = (uint64_t)(1e3 * true_j(floor(now_s / REFRESH_S + 1e-9) * REFRESH_S));
		if (now_s >= SICK_S)
			sick(&r, now_s);
		s = (struct hes_gauge_sample){ .time_s = time_s, .unsure_s = took / 2 };
		hes_gauge_read(&g, &r, &s);
		assert_true(s.energy_j >= last_j);
		last_j = s.energy_j;
		if (i == 0)
			first = s;
		took = time_s >= SICK_S ? took_s : 0;
	}
	hes_gauge_between(&first, &s, &m);
	return m;
}

static void healthy(struct hes_reading *r, double s)
{
	(void)r, (void)s;
}

static void counter_stands_still(struct hes_reading *r, double s)
{
	(void)s;
	r->energy_mj = (uint64_t)(1e3 * true_j(SICK_S));
}

static void counter_stands_still_for_3_s(struct hes_reading *r, double s)
{
	if (s < SICK_S + 3)
		counter_stands_still(r, s);
}

/* When it is small: at the end it is above its value at the start. */
static void counter_begins_at_0(struct hes_reading *r, double s)
{
	(void)s;
	r->energy_mj -= (uint64_t)(1e3 * true_j(SICK_S));
}

static void counter_goes_back_a_little(struct hes_reading *r, double s)
{
	r->energy_mj -= s < SICK_S + 2 * STEP_S ? 30000 : 0;
}

static void counter_jumps(struct hes_reading *r, double s)
{
	(void)s;
	r->energy_mj += 1ull << 32;
}

static void counter_is_garbage(struct hes_reading *r, double s)
{
	r->energy_mj = (uint64_t)(fmod(s * 7919, 1) * 1e12);
}

static void counter_is_not_read(struct hes_reading *r, double s)
{
	(void)s;
	r->has &= ~(unsigned)HES_HAS_ENERGY;
}

static void power_stands_still(struct hes_reading *r, double s)
{
	(void)s;
	r->power_mw = (uint32_t)(1e3 * IDLE_W);
}

static void power_is_not_possible(struct hes_reading *r, double s)
{
	(void)s;
	r->has &= ~(unsigned)HES_HAS_POWER;
	r->impossible = HES_HAS_POWER;
}

static void counter_is_twice(struct hes_reading *r, double s)
{
	(void)s;
	r->energy_mj *= 2;
}

static void counter_is_a_thousandth(struct hes_reading *r, double s)
{
	(void)s;
	r->energy_mj /= 1000;
}

static void power_is_too_much(struct hes_reading *r, double s)
{
	(void)s;
	r->power_mw += r->power_mw * 3 / 4;
}

static void both_are_sick(struct hes_reading *r, double s)
{
	counter_stands_still(r, s);
	power_is_too_much(r, s);
}

static void both_for_3_s(struct hes_reading *r, double s)
{
	if (s >= SICK_S + 3)
		return;
	counter_stands_still(r, s);
	power_is_not_possible(r, s);
}

TEST(a_sick_source_is_left_out_and_the_other_gives_the_joules)
{
	static const struct {
		sick_fn *sick;
		enum hes_energy_from from;
		unsigned left_out;
	} rows[] = {
		{ healthy, HES_ENERGY_COUNTER, 0 },
		{ counter_stands_still, HES_ENERGY_INTEGRAL, OUT(STILL) },
		{ counter_stands_still_for_3_s, HES_ENERGY_INTEGRAL, OUT(STILL) },
		{ counter_begins_at_0, HES_ENERGY_INTEGRAL, OUT(BACK) },
		{ counter_goes_back_a_little, HES_ENERGY_INTEGRAL, OUT(BACK) },
		{ counter_jumps, HES_ENERGY_INTEGRAL, OUT(JUMP) },
		{ counter_is_garbage, HES_ENERGY_INTEGRAL, OUT(BACK) | OUT(JUMP) },
		{ counter_is_twice, HES_ENERGY_INTEGRAL, OUT(JUMP) },
		{ counter_is_a_thousandth, HES_ENERGY_INTEGRAL, OUT(BACK) | OUT(SLOW) },
		{ power_is_too_much, HES_ENERGY_COUNTER, OUT(POWER) },
		{ counter_is_not_read, HES_ENERGY_INTEGRAL, 0 },
		{ power_stands_still, HES_ENERGY_COUNTER, 0 },
		{ power_is_not_possible, HES_ENERGY_COUNTER, OUT(POWER) },
	};

	for (size_t i = 0; i < N(rows); i++) {
		struct hes_measured m = measure(rows[i].sick);

		if (m.from != rows[i].from || m.left_out != rows[i].left_out ||
		    fabs(m.energy_j - TRUTH_J) > 0.015 * TRUTH_J ||
		    fabs(m.known_s - END_S) > 2 * REFRESH_S)
			fail_msg("row %zu: %g J from %d, %g s known, left out %#x", i, m.energy_j,
				 (int)m.from, m.known_s, m.left_out);
		assert_true(fabs(m.mean_w * m.known_s - m.energy_j) < 1e-6);
	}
}

/* Joules of 12 of 15 s are known, and their mean. */
TEST(where_both_sources_are_sick_the_joules_are_missing_and_not_0)
{
	struct hes_measured m = measure(both_for_3_s);
	const double known_j = TRUTH_J - 3 * BUSY_W;

	assert_int_equal(m.from, HES_ENERGY_INTEGRAL);
	assert_true(fabs(m.energy_j - known_j) < 0.015 * known_j);
	assert_true(fabs(m.known_s - 12) < 2 * REFRESH_S);
	assert_int_equal(m.left_out, OUT(STILL) | OUT(POWER));
	m = measure(both_are_sick);
	assert_true(fabs(m.known_s - SICK_S) < 2 && m.left_out == (OUT(STILL) | OUT(POWER)));
}

static void no_sensors(struct hes_reading *r, double s)
{
	(void)s;
	r->has = 0;
}

/* The driver is silent for 3 s: the counter went on. */
static void silent_for_3_s(struct hes_reading *r, double s)
{
	if (s < SICK_S + 3)
		no_sensors(r, s);
}

TEST(a_counter_that_was_not_read_for_a_while_has_the_joules_of_that_time)
{
	struct hes_measured m = measure(silent_for_3_s);

	assert_int_equal(m.from, HES_ENERGY_COUNTER);
	assert_true(fabs(m.energy_j - TRUTH_J) < 0.015 * TRUTH_J && fabs(m.known_s - END_S) < 1e-9);
	m = measure(no_sensors);
	assert_int_equal(m.from, HES_ENERGY_INTEGRAL);
	assert_true(fabs(m.known_s - SICK_S) < 2 * REFRESH_S);
}

TEST(a_machine_that_reads_late_does_not_make_a_healthy_counter_jump)
{
	struct hes_measured m;

	took_s = 9.5 * REFRESH_S;
	m = measure(healthy);
	took_s = 0;
	assert_int_equal(m.left_out, 0);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
