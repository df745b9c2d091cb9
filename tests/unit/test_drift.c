/* test_drift.c - the drift of a predictor: the test against worked figures, false alarms and
 * detection on seeded series. */
#include <math.h>

#include "base/rng.h"
#include "heshare/drift.h"
#include "unit_test.h"

/* With ties; the figure is U counted pair by pair, and the normal distribution. */
TEST(the_chance_is_mann_and_whitneys)
{
	double validation[40], recent[30];
	struct hes_drift d;

	for (int i = 0; i < 40; i++)
		validation[i] = (i * 7 % 40) / 40.0;
	for (int i = 0; i < 30; i++)
		recent[i] = (i * 11 % 30) / 40.0 + 0.25;
	assert_int_equal(hes_drift_judge(validation, N(validation), recent, N(recent), &d, NULL),
			 0);
	assert_int_equal(d.n_validation, 40);
	assert_int_equal(d.n_recent, 30);
	assert_true(fabs(d.validation - 0.4875) < 1e-12);
	assert_true(fabs(d.recent - 0.6125) < 1e-12);
	assert_true(fabs(d.chance - 0.0379733541309) < 1e-9);
	assert_int_equal(d.verdict, HES_DRIFT_NONE);
}

TEST(too_few_errors_give_no_verdict)
{
	double same[HES_DRIFT_MIN_ROWS] = { 0 }, large[HES_DRIFT_MIN_ROWS];
	struct hes_drift d;

	for (size_t i = 0; i < N(large); i++)
		large[i] = 1;
	assert_int_equal(hes_drift_judge(same, N(same) - 1, large, N(large), &d, NULL), 0);
	assert_int_equal(d.verdict, HES_DRIFT_UNKNOWN);
	assert_int_equal(hes_drift_judge(same, N(same), large, N(large) - 1, &d, NULL), 0);
	assert_int_equal(d.verdict, HES_DRIFT_UNKNOWN);
	assert_int_equal(hes_drift_judge(NULL, 0, NULL, 0, &d, NULL), 0);
	assert_int_equal(d.verdict, HES_DRIFT_UNKNOWN);
	assert_true(d.recent == 0 && d.chance == 1);
	assert_int_equal(hes_drift_judge(same, N(same), large, N(large), &d, NULL), 0);
	assert_int_equal(d.verdict, HES_DRIFT_DUE);
}

TEST(equal_errors_are_no_drift)
{
	double same[50] = { 0 };
	struct hes_drift d;

	assert_int_equal(hes_drift_judge(same, 50, same, 50, &d, NULL), 0);
	assert_int_equal(d.verdict, HES_DRIFT_NONE);
}

TEST(values_that_are_no_error_are_refused)
{
	double good[40] = { 0 }, bad[40] = { 0 };
	struct hes_drift d = { .n_recent = 77 };
	struct hes_err err = { 0 };

	bad[3] = -1;
	assert_int_equal(hes_drift_judge(good, 40, bad, 40, &d, &err), -EINVAL);
	assert_string_equal(err.msg, "error 3 is -1; it must be at least 0 and finite");
	bad[3] = NAN;
	assert_int_equal(hes_drift_judge(bad, 40, good, 40, &d, &err), -EINVAL);
	bad[3] = INFINITY;
	assert_int_equal(hes_drift_judge(bad, 40, good, 40, &d, &err), -EINVAL);
	assert_int_equal(d.n_recent, 77);
}

/* One row off by 30 times its size is a broken measurement, not a drift. */
TEST(a_single_outlier_is_no_drift)
{
	double validation[80], recent[60];
	struct hes_rng rng;
	struct hes_drift d;

	hes_rng_seed(&rng, 1);
	for (size_t i = 0; i < N(validation); i++)
		validation[i] = fabs(hes_rng_normal(&rng)) * 0.04;
	for (size_t i = 0; i < N(recent); i++)
		recent[i] = fabs(hes_rng_normal(&rng)) * 0.04;
	recent[7] = 30;
	assert_int_equal(hes_drift_judge(validation, N(validation), recent, N(recent), &d, NULL),
			 0);
	assert_true(d.recent > 10 * d.validation);
	assert_int_equal(d.verdict, HES_DRIFT_NONE);
}

/* Errors as predictors make them: of normal noise, and with the long tail of mixed workloads. */
static double draw_normal(struct hes_rng *rng)
{
	return 0.04 * fabs(hes_rng_normal(rng));
}

static double draw_long_tail(struct hes_rng *rng)
{
	return 0.03 * exp(hes_rng_normal(rng));
}

enum { STREAM = 600, STEP = 25, SERIES = 400 };

/* 83 is what one of three GPU types has of the 250 rows that training holds back by default. */
static const struct {
	const char *name;
	double (*draw)(struct hes_rng *);
	size_t held_back;
	size_t may_miss; /* of SERIES, when the error doubles */
} kinds[] = {
	{ "normal, 83 held back", draw_normal, 83, SERIES / 100 },
	{ "normal, 250 held back", draw_normal, 250, SERIES / 100 },
	{ "long tail, 83 held back", draw_long_tail, 83, SERIES / 20 },
	{ "long tail, 250 held back", draw_long_tail, 250, SERIES / 100 },
};

enum { NEVER = 0, TOO_SOON = STREAM };

/*
 * One series: errors at validation, then a stream that is looked at after
 * every STEP rows, as after each import.
 * @return rows after the change at the first alarm
 */
static size_t first_alarm(uint64_t seed, size_t kind, size_t change, double factor)
{
	double validation[250], stream[STREAM];
	size_t held_back = kinds[kind].held_back;
	struct hes_rng rng;

	hes_rng_seed(&rng, seed);
	for (size_t i = 0; i < held_back; i++)
		validation[i] = kinds[kind].draw(&rng);
	for (size_t i = 0; i < STREAM; i++)
		stream[i] = kinds[kind].draw(&rng) * (i < change ? 1 : factor);
	for (size_t n = STEP; n <= STREAM; n += STEP) {
		size_t from = n > HES_DRIFT_RECENT ? n - HES_DRIFT_RECENT : 0;
		struct hes_drift d;

		assert_int_equal(
			hes_drift_judge(validation, held_back, stream + from, n - from, &d, NULL),
			0);
		if (d.verdict == HES_DRIFT_DUE)
			return n <= change ? TOO_SOON : n - change;
	}
	return NEVER;
}

TEST(steady_errors_raise_no_alarm_in_99_of_100_series)
{
	for (size_t k = 0; k < N(kinds); k++) {
		size_t alarms = 0;

		for (uint64_t seed = 0; seed < SERIES; seed++)
			alarms += first_alarm(seed, k, STREAM, 1) != NEVER;
		print_message("%s: %zu false alarms in %d series of %d rows\n", kinds[k].name,
			      alarms, SERIES, STREAM);
		assert_true(alarms * 100 < SERIES);
	}
}

TEST(twice_the_error_is_found_within_the_recent_rows)
{
	for (size_t k = 0; k < N(kinds); k++) {
		size_t missed = 0;

		for (uint64_t seed = 0; seed < SERIES; seed++) {
			size_t after = first_alarm(seed, k, 300, 2);

			missed += after == NEVER || after > HES_DRIFT_RECENT;
		}
		print_message("%s: %zu of %d doublings not found within %d rows\n", kinds[k].name,
			      missed, SERIES, HES_DRIFT_RECENT);
		assert_true(missed <= kinds[k].may_miss);
	}
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
