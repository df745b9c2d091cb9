/* test_err.c - error sentences: filled, prefixed, cut, never overrun. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "heshare/err.h"

static void a_failure_is_its_code_and_a_sentence(void **state)
{
	struct hes_err err;

	(void)state;
	assert_int_equal(hes_fail(&err, -ERANGE, "%s is %d", "share", 101), -ERANGE);
	assert_int_equal(err.code, -ERANGE);
	assert_string_equal(err.msg, "share is 101");
}

static void without_an_error_struct_only_the_code_matters(void **state)
{
	(void)state;
	assert_int_equal(hes_fail(NULL, -ENOENT, "%s", "unread"), -ENOENT);
	assert_int_equal(hes_fail_in(NULL, "%s", "unread"), -EINVAL);
}

static void context_goes_before_the_sentence_and_keeps_the_code(void **state)
{
	struct hes_err err;

	(void)state;
	hes_fail(&err, -ENOENT, "no GPU n1/0");
	assert_int_equal(hes_fail_in(&err, "%s:%d", "plan.json", 7), -ENOENT);
	assert_string_equal(err.msg, "plan.json:7: no GPU n1/0");
}

static void long_sentences_and_long_context_are_cut(void **state)
{
	struct { struct hes_err err; char guard[8]; } e = { .guard = "guarded" };
	char longer[2 * HES_ERR_MAX];

	(void)state;
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
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_is_its_code_and_a_sentence),
		cmocka_unit_test(without_an_error_struct_only_the_code_matters),
		cmocka_unit_test(context_goes_before_the_sentence_and_keeps_the_code),
		cmocka_unit_test(long_sentences_and_long_context_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
