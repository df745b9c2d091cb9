/*
 * unit_test.h - cmocka with the headers that it needs, and what most unit tests use.
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

#endif
