/*
 * unit_test.h - how a unit test is written: a file with TEST(sentence) { ... } and at its end a
 * main() that calls run_unit_tests().
 *
 * Every TEST() puts itself into the list of its file, at the place of its line, so that tests run
 * in the order of the file.
 */
#ifndef HES_TEST_UNIT_TEST_H
#define HES_TEST_UNIT_TEST_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define N(array) (sizeof(array) / sizeof((array)[0]))

/** Random cases of a test: with sanitizers, which make each ten times as slow, a tenth of @n. */
#ifdef SANITIZED
#define RANDOM_CASES(n) (((n) + 9) / 10)
#else
#define RANDOM_CASES(n) (n)
#endif

#define UNIT_TEST_LINES 1000 /* of a file at most */

static struct CMUnitTest
	unit_tests[UNIT_TEST_LINES]; /* by line; cmocka passes over entries without a name */

/** A test with functions that run before and after it. */
#define TEST_WITH(test, setup, teardown)                                                           \
	_Static_assert(__LINE__ < UNIT_TEST_LINES, "a test file is longer than UNIT_TEST_LINES");  \
	static void test(void **state);                                                            \
	__attribute__((constructor)) static void register_##test(void)                             \
	{                                                                                          \
		unit_tests[__LINE__] =                                                             \
			(struct CMUnitTest)cmocka_unit_test_setup_teardown(test, setup, teardown); \
	}                                                                                          \
	static void test(__attribute__((unused)) void **state)

#define TEST(test) TEST_WITH(test, NULL, NULL)

/** A test of what @setup made, which it calls @on. */
#define TEST_ON(type, on, test, setup, teardown) \
	static void test##_on(type *on);         \
	TEST_WITH(test, setup, teardown)         \
	{                                        \
		test##_on(*state);               \
	}                                        \
	static void test##_on(__attribute__((unused)) type *on)

/** Run the tests of the file. @return what main() returns */
static inline int run_unit_tests(CMFixtureFunction group_setup, CMFixtureFunction group_teardown)
{
	return cmocka_run_group_tests(unit_tests, group_setup, group_teardown);
}

/** The same with a temporary file, which all tests share. @param path  ends with XXXXXX; its name
 * then */
static inline int run_unit_tests_with_file(char *path)
{
	int rc;

	close(mkstemp(path));
	rc = run_unit_tests(NULL, NULL);
	unlink(path);
	return rc;
}

#endif
