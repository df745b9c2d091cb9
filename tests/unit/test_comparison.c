/* test_comparison.c - the sentence that says which policy is best and by how much, and its
 * quantities. */
#include <math.h>

#include "base/quantity.h"
#include "heshare/report.h"
#include "unit_test.h"

static struct hes_report_policy row(const char *name, const char *prefer, double jct_s,
				    double fleet_kj)
{
	return (struct hes_report_policy){ .name = name,
					   .prefer = prefer,
					   .realised = { .avg_jct_us = jct_s * 1e6,
							 .fleet_energy_mj =
								 (uint64_t)(fleet_kj * 1e6) } };
}

static void check_sentence(const struct hes_report_policy *v, size_t n, const char *expected)
{
	char out[HES_REPORT_SENTENCE];

	assert_int_equal(hes_report_sentence(v, n, out, sizeof(out)), *expected != 0);
	assert_string_equal(out, expected);
}

/* The rows of the demo, all jobs at time 0. */
TEST(the_sentence_names_the_strongest_rival_first_and_common_practice_second)
{
	const struct hes_report_policy v[] = {
		row("heshare", "balanced", 2028.5, 7253.2), row("heshare", "jct", 1782.9, 9197.0),
		row("joint", "balanced", 1757.5, 6053.5),   row("joint", "jct", 1515.1, 8529.1),
		row("random", "", 9231.6, 20607.8),         row("exclusive", "", 4640.4, 14670.0),
	};

	check_sentence(v, 6,
		       "joint:balanced: 13 % less average completion time and 17 % less fleet "
		       "energy than heshare:balanced, "
		       "the strongest other policy; 62 % less and 59 % less than one job per GPU "
		       "(exclusive)");
	assert_int_equal(hes_report_best(v, 6), 2);
	assert_int_equal(hes_report_reference(v, 6), 5);
	assert_int_equal(hes_report_reference(v, 5), 0);
}

TEST(what_is_worse_is_more_and_what_is_equal_is_the_same)
{
	const struct hes_report_policy more[] = { row("a", "", 120, 50), row("b", NULL, 100, 100) };
	const struct hes_report_policy same[] = { row("a", "", 100.2, 50), row("b", "", 100, 100) };
	const struct hes_report_policy alike[] = { row("a", "", 10, 10),
						   row("exclusive", "", 10, 10),
						   row("c", "", 10, 10) };
	const struct hes_report_policy twice[] = { row("a", "", 250, 10),
						   row("exclusive", "", 100, 100),
						   row("c", "", 100, 50) };

	check_sentence(more, 2,
		       "a: 20 % more average completion time and 50 % less fleet energy than b");
	check_sentence(same, 2,
		       "a: the same average completion time and 50 % less fleet energy than b");
	check_sentence(alike, 3,
		       "a: the same average completion time and the same fleet energy as "
		       "exclusive, the strongest other policy");
	check_sentence(twice, 3,
		       "a: 150 % more average completion time and 80 % less fleet energy than c, "
		       "the strongest other policy; "
		       "150 % more and 90 % less than one job per GPU (exclusive)");
}

TEST(one_clock_for_each_type_comes_third_unless_it_is_the_best_or_the_rival)
{
	struct hes_report_policy v[] = {
		row("joint", "balanced", 50, 40),       row("heshare", "jct", 60, 50),
		row("static", "edp-sjf", 100, 80),      row("static-equal", "", 300, 100),
		row("static-equal", "edp-sjf", 80, 80), row("exclusive", "", 200, 160),
	};

	check_sentence(v, 6,
		       "joint:balanced: 17 % less average completion time and 20 % less fleet "
		       "energy than heshare:jct, the strongest other policy; 75 % less and 75 % "
		       "less than one job per GPU (exclusive); 38 % less and 50 % less than one "
		       "clock for each GPU type (static-equal:edp-sjf)");
	v[4] = row("static-equal", "edp-sjf", 55, 50);
	check_sentence(v, 6,
		       "joint:balanced: 9 % less average completion time and 20 % less fleet "
		       "energy than static-equal:edp-sjf, the strongest other policy; 75 % less "
		       "and 75 % less than one job per GPU (exclusive)");
}

TEST(common_practice_that_wins_is_the_best)
{
	const struct hes_report_policy v[] = { row("random", "", 300, 30),
					       row("exclusive", "", 100, 10),
					       row("pwr", "", 200, 10) };

	check_sentence(v, 3,
		       "exclusive: 50 % less average completion time and the same fleet energy as "
		       "pwr, the strongest other policy");
}

TEST(a_variant_of_common_practice_is_a_rival)
{
	const struct hes_report_policy v[] = { row("exclusive", "edp-sjf", 100, 50),
					       row("joint", "jct", 50, 50),
					       row("exclusive", "", 200, 100) };

	check_sentence(v, 3,
		       "joint:jct: 50 % less average completion time and the same fleet energy as "
		       "exclusive:edp-sjf, "
		       "the strongest other policy; 75 % less and 50 % less than one job per GPU "
		       "(exclusive)");
	assert_int_equal(hes_report_reference(v, 3), 2);
}

TEST(variants_of_one_method_are_no_rivals)
{
	struct hes_report_policy v[] = { row("joint", "energy", 10, 1), row("joint", "jct", 1, 12),
					 row("plan.json", "", 5, 4) };

	v[2].method = "joint";
	check_sentence(v, 0, "");
	check_sentence(v, 1, "");
	check_sentence(v, 3, "");
	v[2].method = "heshare";
	check_sentence(v, 3,
		       "joint:energy: 100 % more average completion time and 75 % less fleet "
		       "energy than plan.json");
}

TEST(without_times_or_energies_there_is_no_sentence)
{
	struct hes_report_policy v[] = { row("a", "", 10, 1), row("b", "", 0, 2),
					 row("c", "", 3, 0) };

	check_sentence(v, 2, "");
	v[1].realised.avg_jct_us = NAN;
	check_sentence(v, 2, "");
	v[1] = v[2];
	check_sentence(v, 2, "");
}

TEST(a_sentence_without_room_is_none)
{
	const struct hes_report_policy v[] = { row("a", "", 120, 50), row("b", "", 100, 100) };
	char out[30];

	assert_false(hes_report_sentence(v, 2, out, sizeof(out)));
	assert_string_equal(out, "");
}

static void check_time(double s, const char *expected)
{
	char out[HES_QUANTITY_MAX];

	assert_string_equal(hes_time_text(out, s * 1e6), expected);
}

TEST(times_have_three_digits_or_two_units)
{
	check_time(0, "0 s");
	check_time(0.00035, "0.35 ms");
	check_time(0.35, "350 ms");
	check_time(0.9996, "1.00 s");
	check_time(9.474, "9.47 s");
	check_time(59.94, "59.9 s");
	check_time(59.96, "1 min");
	check_time(568, "9 min 28 s");
	check_time(3599.6, "1 h");
	check_time(13920, "3 h 52 min");
	check_time(172769, "47 h 59 min");
	check_time(172771, "2 d");
	check_time(190800, "2 d 5 h");
	check_time(-83.2, "-1 min 23 s");
	check_time(NAN, "-");
	check_time(INFINITY, "-");
}

static void check_energy(double j, const char *expected)
{
	char out[HES_QUANTITY_MAX];

	assert_string_equal(hes_energy_text(out, j * 1e3), expected);
}

TEST(energies_have_three_digits)
{
	check_energy(0, "0 J");
	check_energy(0.004, "0 J");
	check_energy(0.354, "0.35 J");
	check_energy(999.4, "999 J");
	check_energy(999.6, "1.00 kJ");
	check_energy(4817900, "4.82 MJ");
	check_energy(58.04e6, "58.0 MJ");
	check_energy(2e9, "2.00 GJ");
	check_energy(7e15, "7000 TJ");
	check_energy(-1500, "-1.50 kJ");
	check_energy(NAN, "-");
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
