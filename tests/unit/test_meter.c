/*
 * test_meter.c - what windows of the meter make of a counter that moves in steps.
 *
 * A stand-in for the driver has a GPU of 100 W whose power reads 300 W, and a counter that moves
 * ten times a second.
 */
#include <time.h>

#include "base/clock.h"
#include "heshare/measure.h"
#include "unit_test.h"

#define STEP_S   0.1
#define WATTS    100
#define RARELY_S 1e6

static double begun_s;
static uint64_t reset_mj; /* what the counter lost when its driver was loaded again */

static uint64_t counter_mj(void)
{
	return (uint64_t)((hes_monotonic_s() - begun_s) / STEP_S) *
	       (uint64_t)(STEP_S * WATTS * 1000);
}

size_t hes_devices_count(const struct hes_devices *d)
{
	(void)d;
	return 1;
}

uint32_t hes_device_most_mw(const struct hes_devices *d, size_t i)
{
	(void)d, (void)i;
	return 10 * WATTS * 1000;
}

uint32_t hes_device_least_mw(const struct hes_devices *d, size_t i)
{
	(void)d, (void)i;
	return WATTS * 1000 / 10;
}

int hes_device_read(const struct hes_devices *d, size_t i, unsigned want, struct hes_reading *out,
		    struct hes_err *err)
{
	(void)d, (void)i, (void)want, (void)err;
	*out = (struct hes_reading){ .has = HES_HAS_POWER | HES_HAS_ENERGY,
				     .power_mw = 3 * WATTS * 1000,
				     .energy_mj = counter_mj() - reset_mj };
	return 0;
}

int hes_watch_start(struct hes_watch **out, const struct hes_devices *d, const size_t *gpus,
		    size_t n, struct hes_err *err)
{
	(void)d, (void)gpus, (void)n, (void)err;
	*out = NULL;
	return 0;
}

void hes_watch_stop(struct hes_watch *w)
{
	(void)w;
}

void hes_watch_look(struct hes_watch *w, bool counters)
{
	(void)w, (void)counters;
}

void hes_watch_look_at(struct hes_watch *w, size_t k)
{
	(void)w, (void)k;
}

void hes_watch_sums(const struct hes_watch *w, size_t k, struct hes_activity_sums *out)
{
	(void)w, (void)k;
	*out = (struct hes_activity_sums){ .value_s = { 0 } };
}

void hes_activity_between(const struct hes_activity_sums *from, const struct hes_activity_sums *to,
			  struct hes_activity *out)
{
	(void)from, (void)to;
	*out = (struct hes_activity){ .from = HES_ACTIVITY_UNKNOWN };
}

/* Between two steps joules are estimated by the power. Those that a step then shows to be too many
 * are not counted again. */
TEST(joules_never_go_back_and_end_at_the_counter)
{
	const struct timespec nap = { .tv_nsec = 2000000 };
	const size_t gpu = 0;
	struct hes_measured m = { .energy_j = 0 };
	struct hes_meter *meter;
	struct hes_window *w;

	begun_s = hes_monotonic_s();
	assert_int_equal(hes_meter_start_every(&meter, NULL, &gpu, 1, RARELY_S, NULL), 0);
	assert_int_equal(hes_window_begin(meter, &w, NULL), 0);
	for (int i = 0; i < 300; i++) {
		const double before_j = m.energy_j;

		hes_window_look_at(w, 0, &m);
		assert_int_equal(m.from, HES_ENERGY_COUNTER);
		assert_true(m.energy_j >= before_j);
		nanosleep(&nap, NULL);
	}
	/* At either end a step is estimated. */
	assert_true(m.energy_j < (m.seconds + STEP_S) * WATTS + 2 * 3 * WATTS * STEP_S);
	reset_mj = counter_mj();
	hes_window_look_at(w, 0, &m);
	assert_int_equal(m.from, HES_ENERGY_INTEGRAL);
	hes_window_end(w, &m);
	hes_meter_stop(meter);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
