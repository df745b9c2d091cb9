/* test_visible.c - text from outside says nothing to the terminal that shows it. */
#include "base/visible.h"
#include "unit_test.h"

static void check(int width, const char *text, const char *expected)
{
	char *shown = NULL;
	size_t size;
	FILE *f = open_memstream(&shown, &size);

	assert_non_null(f);
	hes_visible_put(f, width, text);
	assert_int_equal(fclose(f), 0);
	assert_string_equal(shown, expected);
	free(shown);
}

TEST(plain_text_is_printed_as_it_is)
{
	check(0, "", "");
	check(0, "sh -c 'echo \\x1b \"$A\"'", "sh -c 'echo \\x1b \"$A\"'");
	check(0, "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
	      "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
}

TEST(control_characters_are_shown_as_numbers)
{
	check(0, "\033[31mred\a\n\t\x7f", "\\x1b[31mred\\x07\\x0a\\x09\\x7f");
	check(0,
	      "\xc2\x9b"
	      "31m",
	      "\\xc2\\x9b31m");
}

TEST(bytes_that_are_no_utf_8_are_shown_as_numbers)
{
	check(0, "caf\xe9", "caf\\xe9");
	check(0, "\xe2\x82", "\\xe2\\x82");
	check(0, "\xff\xc0\xaf", "\\xff\\xc0\\xaf");
}

/* As in "Trojan Source": what is read is not what is run. */
TEST(characters_that_turn_the_direction_of_text_are_shown_as_numbers)
{
	check(0,
	      "a\xe2\x80\xae"
	      "b\xe2\x81\xa6",
	      "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6");
	check(0, "a\xe2\x80\xa8", "a\\xe2\\x80\\xa8");
}

TEST(columns_stay_in_line)
{
	check(6, "ab", "ab    ");
	check(6, "a\033", "a\\x1b ");
	check(2, "long", "long");
}

TEST(a_part_ends_at_its_given_end)
{
	char shown[32] = "";
	FILE *f = fmemopen(shown, sizeof(shown), "w");

	assert_non_null(f);
	hes_visible_put_part(f, "ab\xc3\xa9", 3);
	assert_int_equal(fclose(f), 0);
	assert_string_equal(shown, "ab\\xc3");
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
