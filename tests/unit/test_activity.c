/* test_activity.c - activity between two sums: what is missing stays missing. */
#include "heshare/activity.h"
#include "unit_test.h"

TEST(a_window_is_the_difference_of_two_sums)
{
	struct hes_activity_sums from = { .from = HES_ACTIVITY_GPM }, to = from;
	struct hes_activity a;

	from.value_s[HES_ACT_SM] = 3;
	from.seconds[HES_ACT_SM] = 4;
	to.value_s[HES_ACT_SM] = 8;
	to.seconds[HES_ACT_SM] = 14;
	hes_activity_between(&from, &to, &a);
	assert_int_equal(a.from, HES_ACTIVITY_GPM);
	assert_true(a.of[HES_ACT_SM].value == 0.5 && a.of[HES_ACT_SM].seconds == 10);
	for (int k = 0; k < HES_ACTS; k++)
		if (k != HES_ACT_SM)
			assert_true(a.of[k].seconds == 0);
}

TEST(a_window_without_values_has_no_source)
{
	struct hes_activity_sums sums = { .from = HES_ACTIVITY_DCGM };
	struct hes_activity a = { .from = HES_ACTIVITY_GPM };

	sums.seconds[HES_ACT_BUSY] = 5;
	hes_activity_between(&sums, &sums, &a);
	assert_int_equal(a.from, HES_ACTIVITY_UNKNOWN);
	assert_true(a.of[HES_ACT_BUSY].seconds == 0);
}

/* Refused counters are blank: then only the rates are known and named. */
TEST(a_source_that_gives_no_more_than_the_rates_is_not_named)
{
	struct hes_activity_sums from = { .from = HES_ACTIVITY_DCGM }, to = from;
	struct hes_activity a;

	to.seconds[HES_ACT_BUSY] = to.seconds[HES_ACT_COPYING] = 2;
	to.value_s[HES_ACT_BUSY] = 1;
	hes_activity_between(&from, &to, &a);
	assert_int_equal(a.from, HES_ACTIVITY_UTILISATION);
	to.seconds[HES_ACT_DRAM] = 2;
	hes_activity_between(&from, &to, &a);
	assert_int_equal(a.from, HES_ACTIVITY_DCGM);
}

/* DCGM may deliver its first value long after a watch began: 3 s of rates are not taken off 5 s of
 * counters. */
TEST(a_source_that_comes_late_is_not_mixed_with_the_rates)
{
	struct hes_activity_sums from = { .from = HES_ACTIVITY_DCGM,
					  .rate_s = 2.7,
					  .rate_seconds = 3 },
				 to = from;
	struct hes_activity a;

	to.rate_s = 6;
	to.rate_seconds = 9;
	hes_activity_between(&from, &to, &a);
	assert_true(a.of[HES_ACT_BUSY].value == (6 - 2.7) / 6 && a.of[HES_ACT_BUSY].seconds == 6);
	assert_int_equal(a.from, HES_ACTIVITY_UTILISATION);
	to.value_s[HES_ACT_BUSY] = 2.5;
	to.seconds[HES_ACT_BUSY] = 5;
	hes_activity_between(&from, &to, &a);
	assert_true(a.of[HES_ACT_BUSY].value == 0.5 && a.of[HES_ACT_BUSY].seconds == 5);
}

TEST(every_act_and_source_has_a_name_of_its_own)
{
	for (int a = 0; a < HES_ACTS; a++)
		for (int b = 0; b < a; b++)
			assert_string_not_equal(hes_act_name((enum hes_act)a),
						hes_act_name((enum hes_act)b));
	for (int a = 0; a <= HES_ACTIVITY_GPM; a++)
		for (int b = 0; b < a; b++)
			assert_string_not_equal(hes_activity_from_name((enum hes_activity_from)a),
						hes_activity_from_name((enum hes_activity_from)b));
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
