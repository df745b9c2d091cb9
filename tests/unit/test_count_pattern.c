/* test_count_pattern.c - counts that patterns find in lines, and patterns that are refused. */
#include <inttypes.h>

#include "base/count_pattern.h"
#include "unit_test.h"

#define NONE UINT64_MAX

TEST(a_pattern_finds_the_number_in_its_group)
{
	static const struct {
		const char *pattern, *line;
		uint64_t count;
	} cases[] = {
		{ "(\\d+)/\\d+", " 45%|####     | 450/1000 [00:12<00:15, 35.8it/s]", 450 },
		{ "(\\d+)/\\d+", "no digits here/", NONE },
		{ "(\\d+)/\\d+", "\x1b[32m\x1b[1m 7\x1b[0m/\x1b[K10", 7 },
		{ "^(\\d+)/\\d+", "\x1b]8;;http://x/1/2\a3/4", 3 },
		{ "step (\\d+)", "epoch 3 step 12, loss 0.5", 12 },
		{ "step (\\d+)", "step 999999999999999999", 999999999999999999 },
		{ "step (\\d+)", "step 1000000000000000000", NONE },
		{ "step (\\d*)", "step x1", NONE },
		{ "step (\\S+)", "step 1.5", NONE },
		{ "(?:step|iter) +(\\d+)", "iter  5", 5 },
		{ "x|step (\\d+)", "x step 1", NONE },
		{ "\\w+\\W(\\d+)\\s\\D\\b", "it_1:42 s", 42 },
		{ "[\\w-]+=([\\d]+)[[:space:])\\]]", "n-it=9]", 9 },
		{ "[^\\d](\\d{2,3})[]x]", "a123]", 123 },
		{ "\\[(\\d+)\\]", "[3]", 3 },
		{ "a\\tb(\\d)", "a\tb1", 1 },
		{ "[a\\-c](\\d)", "b1", NONE },
		{ "[a\\-c](\\d)", "-1", 1 },
		{ "y(20\\d{2}|[13-5]x|[1-9][[:digit:]]*)", "y2026", 2026 },
		{ "s(foo|(?:[0]|[^a])+)$", "s37", 37 },
		{ "n(\\w.\\b)", "n42", 42 },
	};

	for (size_t i = 0; i < N(cases); i++) {
		struct hes_count_pattern p = { .made = false };
		uint64_t count = NONE;
		struct hes_err err;

		if (hes_count_pattern_make(&p, "--progress", cases[i].pattern, &err))
			fail_msg("%s", err.msg);
		if (hes_count_pattern_find(&p, cases[i].line, &count) != (cases[i].count != NONE) ||
		    count != cases[i].count)
			fail_msg("%s in %s: %" PRIu64, cases[i].pattern, cases[i].line, count);
		hes_count_pattern_free(&p);
	}
}

TEST(a_wrong_pattern_is_refused_with_the_place_and_an_example)
{
	static const struct {
		const char *pattern, *says;
	} cases[] = {
		{ "", "byte 1: it is empty" },
		{ "step \\d+", "it has no group; the digits of the count need one; such as 'step "
			       "(\\d+)' or '(\\d+)/\\d+'" },
		{ "(\\d+)/(\\d+)",
		  "byte 7: a second group; one group is the count, write others as "
		  "(?:...)" },
		{ "(?:\\d+)", "it has no group" },
		{ "step (\\d+", "byte 6: \"(\" is never closed" },
		{ "step \\d+)", "byte 9: \")\" closes nothing" },
		{ "([0-9)", "byte 2: \"[\" is never closed" },
		{ "([[:digit)", "byte 2: \"[\" is never closed" },
		{ "([\\d", "byte 2: \"[\" is never closed" },
		{ "([\\D])", "byte 3: no such class within brackets" },
		{ "(\\d+)\\", "byte 6: a backslash with nothing behind it" },
		{ "(\\d+)\\n", "byte 6: no such escape; there are \\d \\w \\s \\t \\b; such as" },
		{ "\\x1b(\\d+)", "byte 1: no such escape" },
		{ "(\\d)\\1", "byte 5: references to groups are not supported" },
		{ ".*?(\\d+)", "byte 2: repeats such as *? are not supported" },
		{ "(?P<n>\\d+)", "byte 1: \"(?\" is supported as (?:...) only" },
		{ "(\\d{3,1})", "--progress: \"(\\d{3,1})\": " },
		{ "step (foo)", "byte 6: this group can match no whole number; put it around the "
				"digits of the count alone; such as" },
		{ "(step \\d+)", "byte 1: this group" },
		{ "(\\d+%)", "byte 1: this group" },
		{ "x{2}([a-z]{1,9}|\\[|\\d+\\.\\d)", "byte 5: this group" },
		{ "(\\s*)x", "byte 1: this group" },
		{ "()1", "byte 1: this group" },
		{ "(\\d{19})", "byte 1: this group" },
		{ "(?:(?:(?:(?:a{1,250}){1,250}){1,250}){1,250})(\\d+)",
		  "byte 22: repeats of repeats come to more than 10000 pieces" },
		{ "a{250}{,250}(\\d+)", "byte 7: repeats of repeats" },
		{ "(?:(?:a{110}b+){110,}|c)*(\\d+)", "byte 16: repeats of repeats" },
		{ "(\\d+)\n", "control character 0x0a in byte 6" },
		{ "(?:(?:(?:(?:(?:(?:(?:(?:(?:(?:(?:(?:(?:(?:(?:(?:(?:1", "too many groups" },
	};
	char text[HES_COUNT_PATTERN_MAX + 2];
	struct hes_count_pattern p = { .made = false };
	struct hes_err err;

	for (size_t i = 0; i < N(cases); i++) {
		if (hes_count_pattern_make(&p, "--progress", cases[i].pattern, &err) != -EINVAL ||
		    !strstr(err.msg, cases[i].says))
			fail_msg("%s: %s", cases[i].pattern, err.msg);
		assert_false(p.made);
	}
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	memcpy(text, "(\\d)", 4);
	assert_int_equal(hes_count_pattern_make(&p, "--progress", text, &err), -ERANGE);
	text[sizeof(text) - 2] = '\0';
	assert_int_equal(hes_count_pattern_make(&p, "--progress", text, &err), 0);
	hes_count_pattern_free(&p);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
