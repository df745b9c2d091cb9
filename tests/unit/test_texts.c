/* test_texts.c - texts in order, each once. */
#include "base/texts.h"
#include "unit_test.h"

TEST(texts_are_sorted_by_bytes_and_kept_once)
{
	char v[][4] = { "b", "a", "", "b", "Z", "ab", "", "b" };

	assert_int_equal(hes_texts_distinct(v, 8, sizeof(v[0])), 5);
	assert_string_equal(v[0], "");
	assert_string_equal(v[1], "Z");
	assert_string_equal(v[2], "a");
	assert_string_equal(v[3], "ab");
	assert_string_equal(v[4], "b");
}

TEST(an_empty_list_stays_empty)
{
	assert_int_equal(hes_texts_distinct(NULL, 0, 4), 0);
}

TEST(pointers_are_sorted_by_what_they_point_to)
{
	const char *v[] = { "b", "c", "a" };

	qsort(v, 3, sizeof(v[0]), hes_by_pointed_text);
	assert_string_equal(v[0], "a");
	assert_string_equal(v[2], "c");
}

TEST(what_does_not_fit_behind_a_text_is_cut)
{
	char text[8] = "";

	hes_text_add(text, sizeof(text), ", ", "%s", "a");
	assert_string_equal(text, "a");
	hes_text_add(text, sizeof(text), ", ", "%d", 12);
	assert_string_equal(text, "a, 12");
	hes_text_add(text, sizeof(text), ", ", "%s", "bcd");
	assert_string_equal(text, "a, 12, ");
	hes_text_add(text, sizeof(text), ", ", "%s", "e");
	assert_string_equal(text, "a, 12, ");
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
