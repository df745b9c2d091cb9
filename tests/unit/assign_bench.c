/* assign_bench.c - see assign_bench.h. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "assign_bench.h"
#include "base/rng.h"

#define MAX_TYPES 64

void assign_bench_draw(struct assign_bench *b, size_t n, size_t k, size_t types, uint64_t seed)
{
	double speed[MAX_TYPES], power[MAX_TYPES];
	struct hes_rng r;

	hes_rng_seed(&r, seed);
	b->cost = calloc(types * n, sizeof(*b->cost));
	b->gpus = calloc(k, sizeof(*b->gpus));
	assert_true(b->cost && b->gpus && types <= MAX_TYPES);
	for (size_t t = 0; t < types; t++) {
		speed[t] = 1 + 4 * hes_rng_unit(&r);
		power[t] = 60 * speed[t] * (0.8 + 0.6 * hes_rng_unit(&r));
	}
	for (size_t i = 0; i < n; i++) {
		double work = 1e5 + hes_rng_exponential(&r, 1e6);

		for (size_t t = 0; t < types; t++) {
			struct hes_cost *c = &b->cost[t * n + i];

			c->time_us = work / speed[t] * (0.5 + hes_rng_unit(&r));
			c->energy_mj = c->time_us * power[t] * (0.7 + 0.6 * hes_rng_unit(&r));
		}
	}
	for (size_t g = 0; g < k; g++)
		b->gpus[g] = (struct hes_assign_gpu){ (uint32_t)(g % types), 0 };
	assert_int_equal(hes_assign_init(&b->a, n, k, types, b->cost, b->gpus), 0);
}

void assign_bench_again(struct assign_bench *b)
{
	const size_t n = b->a.n, k = b->a.k, types = b->a.n_types;

	hes_assign_finish(&b->a);
	assert_int_equal(hes_assign_init(&b->a, n, k, types, b->cost, b->gpus), 0);
}

void assign_bench_finish(struct assign_bench *b)
{
	hes_assign_finish(&b->a);
	free(b->cost);
	free(b->gpus);
}

struct hes_pareto assign_bench_exhaust(const struct hes_assign *a)
{
	struct hes_assignment *x = hes_assignments_new(a, 1);
	struct hes_pareto all = { 0 };
	size_t at = 0;

	assert_non_null(x);
	while (at < a->n) {
		bool runs = true;

		for (size_t i = 0; i < a->n; i++)
			runs &= isfinite(hes_assign_cost(a, i, x->gpu_of[i])->time_us) != 0;
		if (runs) {
			hes_assign_evaluate(a, x);
			assert_true(hes_pareto_insert(&all, &x->at, 0) >= 0);
		}
		for (at = 0; at < a->n && ++x->gpu_of[at] == a->k; at++)
			x->gpu_of[at] = 0;
	}
	free(x);
	return all;
}
