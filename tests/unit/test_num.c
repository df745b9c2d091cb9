/* test_num.c - numbers from the outside: whole, in range, or refused and named. */
#include "base/num.h"
#include "unit_test.h"

TEST(whole_numbers_are_read_with_space_around)
{
	uint64_t v = 0;
	uint32_t w = 0;

	assert_int_equal(hes_parse_u64("n", " 42\t", 0, 100, &v, NULL), 0);
	assert_int_equal(v, 42);
	assert_int_equal(hes_parse_u64("n", "18446744073709551615", 0, UINT64_MAX, &v, NULL), 0);
	assert_true(v == UINT64_MAX);
	assert_int_equal(hes_parse_u32("n", "4294967295", 0, UINT32_MAX, &w, NULL), 0);
	assert_int_equal(w, UINT32_MAX);
}

TEST(text_that_is_no_whole_number_is_refused_and_changes_nothing)
{
	static const char *const bad[] = { "",     " ",   "-1",  "+1",  "1.5", "1e3",
					   "0x10", "12a", "a12", "1 2", "nan" };
	uint64_t v = 7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(hes_parse_u64("n", bad[i], 0, UINT64_MAX, &v, NULL), -EINVAL);
	assert_int_equal(hes_parse_u64("n", "18446744073709551616", 0, UINT64_MAX, &v, NULL),
			 -ERANGE);
	assert_int_equal(hes_parse_u64("n", "4", 5, 9, &v, NULL), -ERANGE);
	assert_int_equal(hes_parse_u64("n", "10", 5, 9, &v, NULL), -ERANGE);
	assert_int_equal(v, 7);
}

TEST(text_that_is_no_finite_number_is_refused_and_changes_nothing)
{
	static const char *const words[] = { "", "one", "1,5", "1.5W", "--1", "." };
	static const char *const endless[] = { "nan", "NaN", "inf", "-inf", "infinity", "1e400" };
	double v = 7;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		assert_int_equal(hes_parse_double("x", words[i], -1e308, 1e308, &v, NULL), -EINVAL);
	for (size_t i = 0; i < sizeof(endless) / sizeof(endless[0]); i++)
		assert_int_equal(hes_parse_double("x", endless[i], -1e308, 1e308, &v, NULL),
				 -ERANGE);
	assert_int_equal(hes_parse_double("x", "1.0001", 0, 1, &v, NULL), -ERANGE);
	assert_true(v == 7);
	assert_int_equal(hes_parse_double("x", "1", 0, 1, &v, NULL), 0);
	assert_true(v == 1);
}

TEST(a_refusal_names_the_value_and_what_would_be_right)
{
	struct hes_err err;
	uint64_t v;
	double d;

	hes_parse_u64("--trees", "lots", 1, 10000, &v, &err);
	assert_string_equal(err.msg, "--trees: \"lots\" is not a whole number from 1 to 10000");
	hes_parse_double("power_w", "-3", 0, 700, &d, &err);
	assert_string_equal(err.msg, "power_w: -3 is outside 0 to 700");
}

TEST(seconds_become_microseconds_rounded)
{
	int64_t us = -1;

	assert_int_equal(hes_parse_seconds("t", "0.0000015", &us, NULL), 0);
	assert_int_equal(us, 2);
	assert_int_equal(hes_parse_seconds("t", "1000000000", &us, NULL), 0);
	assert_true(us == 1000000000000000);
	assert_int_equal(hes_parse_seconds("t", "-0.1", &us, NULL), -ERANGE);
	assert_int_equal(hes_parse_seconds("t", "1000000001", &us, NULL), -ERANGE);
	assert_true(us == 1000000000000000);
}

TEST(sizes_have_units_of_1024)
{
	static const char *const bad[] = { "", "k", "1m", "-1", "1.5G", "17179869184G" };
	uint64_t n = 7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(hes_parse_size("--log-max", bad[i], &n, NULL), -EINVAL);
	assert_true(n == 7);
	assert_int_equal(hes_parse_size("--log-max", "4097", &n, NULL), 0);
	assert_true(n == 4097);
	assert_int_equal(hes_parse_size("--log-max", "2G", &n, NULL), 0);
	assert_true(n == UINT64_C(2) << 30);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
