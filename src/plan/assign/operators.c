/*
 * operators.c - the plain operators on assignments, those of any integer
 * coding; see assign_search.h.
 */
#include <math.h>
#include <string.h>

#include "plan/assign/assign_search.h"

/* A GPU by lot; where the job cannot run there, the next on which it can. */
static uint32_t any_gpu(const struct hes_assign *a, struct hes_rng *r, size_t job)
{
	size_t gpu = hes_rng_below(r, a->k);

	while (!isfinite(hes_assign_cost(a, job, gpu)->time_us))
		gpu = gpu + 1 < a->k ? gpu + 1 : 0;
	return (uint32_t)gpu;
}

void hes_plain_draw(const struct hes_assign_search *s, struct hes_rng *r, struct hes_queues *x)
{
	uint32_t *gpu_of = hes_queues_gpu_of(s->a, x);

	for (size_t i = 0; i < s->a->n; i++)
		gpu_of[i] = any_gpu(s->a, r, i);
	hes_queues_build(s->a, x);
}

/* Uniform crossover: each job's GPUs are exchanged with even odds. @second may be NULL. */
void hes_plain_cross(const struct hes_assign_search *s, struct hes_rng *r, struct hes_assign_scratch *room,
		     const struct hes_queues *p, const struct hes_queues *q, struct hes_queues *first,
		     struct hes_queues *second)
{
	const size_t n = s->a->n;
	const uint32_t *in_p = hes_queues_gpus(s->a, p), *in_q = hes_queues_gpus(s->a, q);
	uint32_t *one = room->gpu_of, *other = room->gpu_of + n;
	uint64_t bits = 0;

	memcpy(first, p, hes_queues_size(s->a));
	if (second)
		memcpy(second, q, hes_queues_size(s->a));
	if (hes_rng_unit(r) >= s->crossover)
		return;
	for (size_t i = 0; i < n; i++, bits >>= 1) {
		uint32_t mask;

		if (i % 64 == 0)
			bits = hes_rng_u64(r);
		mask = (0 - (uint32_t)(bits & 1)) & (in_p[i] ^ in_q[i]);
		one[i] = in_p[i] ^ mask;
		other[i] = in_q[i] ^ mask;
	}
	hes_queues_become(s->a, first, one);
	if (second)
		hes_queues_become(s->a, second, other);
}

void hes_plain_mutate(const struct hes_assign_search *s, struct hes_rng *r, struct hes_queues *x)
{
	const double n = (double)s->a->n, gap = s->mutation_gap;

	for (double at = floor(hes_rng_exponential(r, gap)); at < n; at += 1 + floor(hes_rng_exponential(r, gap)))
		hes_queues_move(s->a, x, (uint32_t)at, any_gpu(s->a, r, (size_t)at));
}
