/*
 * store_bench.h - a folder with a store in it, for tests of the store: each test has its own,
 * empty; and rows to add.
 */
#ifndef HES_TEST_STORE_BENCH_H
#define HES_TEST_STORE_BENCH_H

#include "heshare/store.h"

extern char store_folder[];
extern char store_path[64];

int store_set_up(void **state);
/** The folder must hold nothing but the store. */
int store_tear_down(void **state);

/** Open it, or fail the test. For writing it is checked for damage. */
struct hes_store *store_opened(enum hes_store_mode mode);

/** A row of that point; all else of it is made up. */
struct hes_profile store_profile(const char *workload, const char *type, uint32_t batch_size);
/** Of the workload "net" with batch size 4, with one co-runner; @i makes it different from others.
 */
struct hes_sample store_sample(const char *type, uint32_t i);

/** Deliver rows, or fail the test. @return what was new, and what was known */
struct hes_delivered store_add(struct hes_store *s, enum hes_source source, int64_t at_us,
			       struct hes_profile *p, size_t n_p, struct hes_sample *v, size_t n_v);

#endif
