/* assign_bench.h - random assignment problems for the tests of src/plan/assign, and all their
 * assignments. */
#ifndef HES_TESTS_ASSIGN_BENCH_H
#define HES_TESTS_ASSIGN_BENCH_H

#include "plan/assign/assign.h"

struct assign_bench {
	struct hes_assign a;
	struct hes_cost *cost;
	struct hes_assign_gpu *gpus;
};

/** n jobs, k GPUs that take the types in turn, all free. */
void assign_bench_draw(struct assign_bench *b, size_t n, size_t k, size_t types, uint64_t seed);
/** After a change of cost or gpus. */
void assign_bench_again(struct assign_bench *b);
void assign_bench_finish(struct assign_bench *b);

/** The front of all k^n assignments; the caller frees it. */
struct hes_pareto assign_bench_exhaust(const struct hes_assign *a);

#endif
