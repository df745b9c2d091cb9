/*
 * search.c - plain operators on assignments, and searches that use them; see search.h.
 */
#include "search.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "plan/assign/operators.h"

#define CROSSOVER 0.9 /* probability that the plain operator mixes two parents */

struct problem {
	const struct search_options *o;
	struct hes_operators ops;
};

/* A GPU at random; where the job cannot run there, the next on which it can. */
static uint32_t any_gpu(const struct hes_assign *a, struct hes_rng *r, size_t job)
{
	size_t gpu = hes_rng_below(r, a->k);

	while (!isfinite(hes_assign_cost(a, job, gpu)->time_us))
		gpu = gpu + 1 < a->k ? gpu + 1 : 0;
	return (uint32_t)gpu;
}

static void plain_draw(const struct hes_assign *a, struct hes_rng *r, struct hes_queues *x)
{
	uint32_t *gpu_of = hes_queues_gpu_of(a, x);

	for (size_t i = 0; i < a->n; i++)
		gpu_of[i] = any_gpu(a, r, i);
	hes_queues_build(a, x);
}

/* Uniform crossover: each job's GPUs are exchanged with even odds. @second may be NULL. */
static void plain_cross(const struct hes_assign *a, struct hes_rng *r,
			struct hes_operator_room *room, const struct hes_queues *p,
			const struct hes_queues *q, struct hes_queues *first,
			struct hes_queues *second)
{
	const uint32_t *in_p = hes_queues_gpus(a, p), *in_q = hes_queues_gpus(a, q);
	uint32_t *one = room->gpu_of, *other = room->gpu_of + a->n;
	uint64_t bits = 0;

	memcpy(first, p, hes_queues_size(a));
	if (second)
		memcpy(second, q, hes_queues_size(a));
	if (hes_rng_unit(r) >= CROSSOVER)
		return;
	for (size_t i = 0; i < a->n; i++, bits >>= 1) {
		uint32_t mask;

		if (i % 64 == 0)
			bits = hes_rng_u64(r);
		mask = (0 - (uint32_t)(bits & 1)) & (in_p[i] ^ in_q[i]);
		one[i] = in_p[i] ^ mask;
		other[i] = in_q[i] ^ mask;
	}
	hes_queues_become(a, first, one);
	if (second)
		hes_queues_become(a, second, other);
}

static void plain_mutate(const struct hes_operators *ops, struct hes_rng *r, struct hes_queues *x)
{
	const double n = (double)ops->a->n, gap = ops->mutation_gap;

	for (double at = floor(hes_rng_exponential(r, gap)); at < n;
	     at += 1 + floor(hes_rng_exponential(r, gap)))
		hes_queues_move(ops->a, x, (uint32_t)at, any_gpu(ops->a, r, (size_t)at));
}

static void draw(const void *problem, struct hes_rng *r, void *scratch, void *x)
{
	const struct problem *p = problem;

	(void)scratch;
	if (p->o->ranked_start)
		hes_ranked_draw(&p->ops, r, x);
	else
		plain_draw(p->ops.a, r, x);
}

static uint64_t vary(const void *problem, struct hes_rng *r, void *scratch, const void *p,
		     const void *q, void *first, void *second)
{
	const struct problem *of = problem;
	const struct hes_operators *ops = &of->ops;
	struct hes_operator_room room = hes_operator_room_in(ops->a, scratch);
	uint64_t evaluations = 0;

	if (of->o->inherit) {
		hes_inherit(ops, r, &room, p, q, first);
		if (second)
			memcpy(second, first, hes_queues_size(ops->a));
	} else {
		plain_cross(ops->a, r, &room, p, q, first, second);
	}
	if (of->o->migrate) {
		const size_t n = hes_choose_migrants(ops, r, &room);

		evaluations += hes_migrate(ops, &room, n, second || hes_rng_u64(r) >> 63, first);
		if (second)
			evaluations += hes_migrate(ops, &room, n, false, second);
	} else {
		plain_mutate(ops, r, first);
		if (second)
			plain_mutate(ops, r, second);
	}
	return evaluations;
}

static struct hes_objectives judge(const void *problem, const void *x)
{
	(void)problem;
	return ((const struct hes_queues *)x)->at;
}

/* The solutions as assignments, at their costs before rounding. */
static int keep_front(const struct hes_assign *a, const struct hes_evolved *found,
		      struct hes_assign_front *out)
{
	struct hes_assignment *v = hes_assignments_new(a, found->n);

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < found->n; i++) {
		const struct hes_queues *x = (const void *)(found->solutions + i * found->stride);

		memcpy(v[i].gpu_of, hes_queues_gpus(a, x), a->n * sizeof(*v[i].gpu_of));
		hes_assign_evaluate(a, &v[i]);
	}
	*out = (struct hes_assign_front){ v, found->n };
	return 0;
}

int search_assignments(const struct hes_assign *a, const struct search_options *o,
		       hes_evolve_fn *search, struct hes_assign_front *out, uint64_t *evaluations)
{
	struct problem p = { .o = o };
	struct hes_evolvable v = {
		.size = hes_queues_size(a),
		.scratch_size = hes_operator_room_size(a),
		.draw = draw,
		.vary = vary,
		.judge = judge,
	};
	struct hes_evolved found;
	int rc = hes_operators_init(&p.ops, a, o->mutation);

	if (rc)
		return rc;
	p.ops.no_recovery = o->no_recovery;
	v.problem = &p;
	rc = search(&v, &o->evolve, &found);
	if (!rc) {
		rc = keep_front(a, &found, out);
		*evaluations = found.evaluations;
		hes_evolved_free(&found);
	}
	hes_operators_finish(&p.ops);
	return rc;
}
