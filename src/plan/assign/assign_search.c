/*
 * assign_search.c - stage 1 for the algorithms of evolve.h; see assign_search.h.
 */
#include "plan/assign/assign_search.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void hes_assign_search_finish(struct hes_assign_search *s)
{
	free(s->least_energy_mj);
	free(s->cheapest_type);
	free(s->ranked_types);
	free(s->ranked_first);
	hes_delays_finish(&s->delays);
	free(s->by_type);
	free(s->first_of_type);
	*s = (struct hes_assign_search){ 0 };
}

static void list_by_type(struct hes_assign_search *s)
{
	const struct hes_assign *a = s->a;
	uint32_t *first = s->first_of_type;

	for (size_t g = 0; g < a->k; g++)
		first[a->gpus[g].type + 1]++;
	for (size_t t = 0; t < a->n_types; t++)
		first[t + 1] += first[t];
	for (size_t g = 0; g < a->k; g++)
		s->by_type[first[a->gpus[g].type]++] = (uint32_t)g;
	/* Filling moved each start to its end, which is the next one's start. */
	memmove(first + 1, first, a->n_types * sizeof(*first));
	first[0] = 0;
}

static void find_cheapest(struct hes_assign_search *s)
{
	const struct hes_assign *a = s->a;

	for (size_t i = 0; i < a->n; i++)
		s->least_energy_mj[i] = INFINITY;
	for (size_t t = 0; t < a->n_types; t++)
		for (size_t i = 0; i < a->n; i++) {
			const struct hes_cost *c = &a->exact[t * a->n + i];

			if (!isfinite(c->time_us) || c->energy_mj >= s->least_energy_mj[i])
				continue;
			s->least_energy_mj[i] = c->energy_mj;
			s->cheapest_type[i] = (uint32_t)t;
		}
}

int hes_assign_search_init(struct hes_assign_search *s, const struct hes_assign *a)
{
	*s = (struct hes_assign_search){ .a = a };
	s->least_energy_mj = calloc(a->n + 1, sizeof(*s->least_energy_mj));
	s->cheapest_type = calloc(a->n + 1, sizeof(*s->cheapest_type));
	s->by_type = calloc(a->k + 1, sizeof(*s->by_type));
	s->first_of_type = calloc(a->n_types + 1, sizeof(*s->first_of_type));
	if (!s->least_energy_mj || !s->cheapest_type || !s->by_type || !s->first_of_type) {
		hes_assign_search_finish(s);
		return -ENOMEM;
	}
	list_by_type(s);
	find_cheapest(s);
	return 0;
}

size_t hes_assign_scratch_size(const struct hes_assign *a)
{
	return a->n * (2 * sizeof(double) + 3 * sizeof(uint32_t) + 1) + hes_delays_rows(a) * sizeof(double) + a->k;
}

struct hes_assign_scratch hes_assign_scratch_in(const struct hes_assign *a, void *bytes)
{
	/* Widest first, so that each is aligned. */
	double *end_us = bytes, *delays = end_us + 2 * a->n;
	uint32_t *gpu_of = (uint32_t *)(void *)(delays + hes_delays_rows(a)), *moving = gpu_of + 2 * a->n;
	uint8_t *moves = (uint8_t *)(void *)(moving + a->n);

	return (struct hes_assign_scratch){ gpu_of, end_us, delays, moving, moves, moves + a->n };
}

static void draw(const void *problem, struct hes_rng *r, void *scratch, void *x)
{
	const struct hes_assign_search *s = problem;

	(void)scratch;
	if (s->ranked_start)
		hes_ranked_draw(s, r, x);
	else
		hes_plain_draw(s, r, x);
}

static uint64_t vary(const void *problem, struct hes_rng *r, void *scratch, const void *p, const void *q, void *first,
		     void *second)
{
	const struct hes_assign_search *s = problem;
	struct hes_assign_scratch room = hes_assign_scratch_in(s->a, scratch);
	uint64_t evaluations = 0;

	if (s->inherit) {
		hes_inherit(s, r, &room, p, q, first);
		if (second)
			memcpy(second, first, hes_queues_size(s->a));
	} else {
		hes_plain_cross(s, r, &room, p, q, first, second);
	}
	if (s->migrate) {
		size_t n = hes_choose_migrants(s, r, &room);

		evaluations += hes_migrate(s, r, &room, n, second || hes_rng_u64(r) >> 63, first);
		if (second)
			evaluations += hes_migrate(s, r, &room, n, false, second);
	} else {
		hes_plain_mutate(s, r, first);
		if (second)
			hes_plain_mutate(s, r, second);
	}
	return evaluations;
}

static struct hes_objectives judge(const void *problem, const void *x)
{
	(void)problem;
	return ((const struct hes_queues *)x)->at;
}

/* The solutions as assignments, at their true costs. */
static int keep(const struct hes_assign *a, const struct hes_evolved *found, struct hes_assign_front *out)
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

double hes_mutation_gap(double probability)
{
	return probability < 1 ? -1 / log1p(-probability) : 0;
}

int hes_assign_search_run(const struct hes_assign_search *s, hes_evolve_fn *search,
			  const struct hes_evolve_options *o, struct hes_assign_front *out, uint64_t *evaluations)
{
	const struct hes_evolvable v = {
		.problem = s, .size = hes_queues_size(s->a), .scratch_size = hes_assign_scratch_size(s->a),
		.draw = draw, .vary = vary, .judge = judge,
	};
	struct hes_evolved found;
	int rc = search(&v, o, &found);

	if (rc)
		return rc;
	rc = keep(s->a, &found, out);
	if (!rc && evaluations)
		*evaluations = found.evaluations;
	hes_evolved_free(&found);
	return rc;
}
