/*
 * store_bench.h - a folder with a store in it, for tests of the store: each test has its own, empty.
 */
#ifndef HES_TEST_STORE_BENCH_H
#define HES_TEST_STORE_BENCH_H

#include "heshare/store.h"

extern char store_folder[];
extern char store_path[64];

int store_set_up(void **state);
/** The folder must hold nothing but the store. */
int store_tear_down(void **state);

/** A row of a table of tests. */
#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, store_set_up, store_tear_down)

/** Open it, or fail the test. For writing it is checked for damage. */
struct hes_store *store_opened(enum hes_store_mode mode);

#endif
