/* test_texts.c - texts in order, each once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/texts.h"

static void texts_are_sorted_by_bytes_and_kept_once(void **state)
{
	char v[][4] = { "b", "a", "", "b", "Z", "ab", "", "b" };

	(void)state;
	assert_int_equal(hes_texts_distinct(v, 8, sizeof(v[0])), 5);
	assert_string_equal(v[0], "");
	assert_string_equal(v[1], "Z");
	assert_string_equal(v[2], "a");
	assert_string_equal(v[3], "ab");
	assert_string_equal(v[4], "b");
}

static void no_texts_are_none(void **state)
{
	(void)state;
	assert_int_equal(hes_texts_distinct(NULL, 0, 4), 0);
}

static void pointers_are_sorted_by_what_they_point_to(void **state)
{
	const char *v[] = { "b", "c", "a" };

	(void)state;
	qsort(v, 3, sizeof(v[0]), hes_by_pointed_text);
	assert_string_equal(v[0], "a");
	assert_string_equal(v[2], "c");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_sorted_by_bytes_and_kept_once),
		cmocka_unit_test(no_texts_are_none),
		cmocka_unit_test(pointers_are_sorted_by_what_they_point_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
