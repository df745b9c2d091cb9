/* test_utf8.c - what is UTF-8 and what only looks like it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/utf8.h"

static void text_of_every_length_of_character_is_accepted(void **state)
{
	(void)state;
	assert_true(hes_is_utf8(""));
	assert_true(hes_is_utf8("plain"));
	assert_true(hes_is_utf8("\xc3\xa9 \xe2\x82\xac \xed\x9f\xbf \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf"));
}

static void latin_1_and_characters_cut_short_are_refused(void **state)
{
	(void)state;
	assert_false(hes_is_utf8("caf\xe9"));
	assert_false(hes_is_utf8("\xff"));
	assert_false(hes_is_utf8("\xe2\x82"));
	assert_false(hes_is_utf8("\xf0\x9f\x98!"));
	assert_false(hes_is_utf8("\x80"));
}

static void overlong_forms_surrogates_and_what_is_above_unicode_are_refused(void **state)
{
	(void)state;
	assert_false(hes_is_utf8("\xc0\xaf"));
	assert_false(hes_is_utf8("\xe0\x9f\xbf"));
	assert_false(hes_is_utf8("\xed\xa0\x80"));
	assert_false(hes_is_utf8("\xf0\x8f\xbf\xbf"));
	assert_false(hes_is_utf8("\xf4\x90\x80\x80"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_of_every_length_of_character_is_accepted),
		cmocka_unit_test(latin_1_and_characters_cut_short_are_refused),
		cmocka_unit_test(overlong_forms_surrogates_and_what_is_above_unicode_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
