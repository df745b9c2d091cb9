/* test_utf8.c - what is UTF-8 and what only looks like it. */
#include "base/utf8.h"
#include "unit_test.h"

TEST(text_of_every_length_of_character_is_accepted)
{
	assert_true(hes_is_utf8(""));
	assert_true(hes_is_utf8("plain"));
	assert_true(hes_is_utf8(
		"\xc3\xa9 \xe2\x82\xac \xed\x9f\xbf \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf"));
}

TEST(latin_1_and_incomplete_characters_are_refused)
{
	assert_false(hes_is_utf8("caf\xe9"));
	assert_false(hes_is_utf8("\xff"));
	assert_false(hes_is_utf8("\xe2\x82"));
	assert_false(hes_is_utf8("\xf0\x9f\x98!"));
	assert_false(hes_is_utf8("\x80"));
}

TEST(overlong_forms_surrogates_and_numbers_above_unicode_are_refused)
{
	assert_false(hes_is_utf8("\xc0\xaf"));
	assert_false(hes_is_utf8("\xe0\x9f\xbf"));
	assert_false(hes_is_utf8("\xed\xa0\x80"));
	assert_false(hes_is_utf8("\xf0\x8f\xbf\xbf"));
	assert_false(hes_is_utf8("\xf4\x90\x80\x80"));
}

TEST(a_name_with_control_characters_is_refused)
{
	const char unended[4] = { 'a', 'b', 'c', 'd' };
	struct hes_err err;

	assert_int_equal(hes_check_name("id", "caf\xc3\xa9 1", 47, NULL), 0);
	assert_int_equal(hes_check_name("id", "", 47, &err), -EINVAL);
	assert_string_equal(err.msg, "id: empty; a name is needed");
	assert_int_equal(hes_check_name("id", "a\033[31m", 47, &err), -EINVAL);
	assert_string_equal(err.msg, "id: control character 0x1b in byte 2");
	/* U+009B opens a sequence on some terminals, as ESC [ does. */
	assert_int_equal(hes_check_name("id",
					"a\xc2\x9b"
					"31m",
					47, &err),
			 -EINVAL);
	assert_string_equal(err.msg, "id: control character 0x9b in byte 2");
	assert_int_equal(hes_check_name("id", unended, 3, &err), -ERANGE);
	assert_string_equal(err.msg, "id: \"abcd...\" has more than 3 bytes");
	assert_int_equal(hes_check_name("id", "caf\xe9", 47, &err), -EINVAL);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
