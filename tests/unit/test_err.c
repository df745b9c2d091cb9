/* test_err.c - error sentences: filled, prefixed, cut, never overrun. */
#include "heshare/err.h"
#include "unit_test.h"

TEST(a_failure_is_its_code_and_a_sentence)
{
	struct hes_err err;

	assert_int_equal(hes_fail(&err, -ERANGE, "%s is %d", "share", 101), -ERANGE);
	assert_int_equal(err.code, -ERANGE);
	assert_string_equal(err.msg, "share is 101");
}

TEST(without_an_error_struct_only_the_code_matters)
{
	assert_int_equal(hes_fail(NULL, -ENOENT, "%s", "unread"), -ENOENT);
	assert_int_equal(hes_fail_in(NULL, "%s", "unread"), -EINVAL);
}

TEST(context_goes_before_the_sentence_and_keeps_the_code)
{
	struct hes_err err;

	hes_fail(&err, -ENOENT, "no GPU n1/0");
	assert_int_equal(hes_fail_in(&err, "%s:%d", "plan.json", 7), -ENOENT);
	assert_string_equal(err.msg, "plan.json:7: no GPU n1/0");
}

TEST(long_sentences_and_long_context_are_cut)
{
	struct {
		struct hes_err err;
		char guard[8];
	} e = { .guard = "guarded" };
	char longer[2 * HES_ERR_MAX];

	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	hes_fail(&e.err, -EINVAL, "%s", longer);
	assert_int_equal(strlen(e.err.msg), HES_ERR_MAX - 1);
	hes_fail_in(&e.err, "%s", "file");
	assert_int_equal(strncmp(e.err.msg, "file: xxx", 9), 0);
	assert_int_equal(strlen(e.err.msg), HES_ERR_MAX - 1);
	hes_fail_in(&e.err, "%s", longer);
	assert_int_equal(strlen(e.err.msg), HES_ERR_MAX - 1);
	assert_string_equal(e.guard, "guarded");
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
