/*
 * moead.c - MOEA/D: as many weighted problems as members, each solved with
 * the help of those whose weights are nearest; see evolve.h.
 *
 * A member's weights are its place's; what it costs there is the greater of
 * its weighted distances from the best value of each objective, each in units of the range found
 * so far (Tchebycheff). Offspring are weighed one by one, so a generation
 * is not spread over threads.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "plan/population.h"

#define NEIGHBOURS    20  /* weights among which parents are sought, most often, and that an offspring may win */
#define FROM_ANYWHERE 0.1 /* part of the matings whose parents may be any */

struct moead {
	struct hes_population p;       /* members [0, n): the problems'; two more to breed in */
	size_t                n, neighbours;
	struct hes_objectives best;    /* of each objective */
	struct hes_objectives span;    /* from best to the worst on the front */
	struct hes_pareto     front;   /* objectives of all that none dominated so far */
};

static size_t first_neighbour(const struct moead *m, size_t problem)
{
	size_t half = m->neighbours / 2, first = problem > half ? problem - half : 0;

	return first + m->neighbours > m->n ? m->n - m->neighbours : first;
}

static double cost(const struct moead *m, size_t problem, const struct hes_objectives *at)
{
	/* No weight is nothing, or points of the front's end would be worth as much as any beyond them. */
	double w = fmax((double)problem / (double)(m->n - 1), 1e-6), u = fmax(1 - w, 1e-6);

	return fmax(w * (at->energy_mj - m->best.energy_mj) / m->span.energy_mj,
		    u * (at->jct_us - m->best.jct_us) / m->span.jct_us);
}

static double at_least_some(double span)
{
	return span > 0 ? span : 1;
}

/* The range of the front so far, to which objectives are scaled. */
static int note(struct moead *m, const struct hes_objectives *at)
{
	const struct hes_pareto_point *v;
	int rc = hes_pareto_insert(&m->front, at, 0);

	if (rc <= 0)
		return rc;
	v = m->front.v;
	m->best = (struct hes_objectives){ v[0].at.energy_mj, v[m->front.n - 1].at.jct_us };
	m->span = (struct hes_objectives){ at_least_some(v[m->front.n - 1].at.energy_mj - m->best.energy_mj),
					   at_least_some(v[0].at.jct_us - m->best.jct_us) };
	return 0;
}

static void offer(struct moead *m, const struct hes_member *offspring, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++)
		if (cost(m, i, &offspring->at) < cost(m, i, &m->p.members[i].at)) {
			memcpy(m->p.members[i].x, offspring->x, m->p.stride);
			m->p.members[i].at = offspring->at;
		}
}

/* One of the two offspring of a mating is offered. */
static int step(struct moead *m, size_t problem)
{
	const struct hes_evolvable *v = m->p.v;
	struct hes_rng r = hes_rng_fork(&m->p.streams, m->p.matings++);
	bool anywhere = hes_rng_unit(&r) < FROM_ANYWHERE;
	size_t first = anywhere ? 0 : first_neighbour(m, problem), n = anywhere ? m->n : m->neighbours;
	size_t a = first + hes_rng_below(&r, n), b = first + hes_rng_below(&r, n);
	struct hes_member *offspring = &m->p.members[m->n + (hes_rng_u64(&r) >> 63)];
	int rc;

	v->vary(v->problem, &r, m->p.scratch, m->p.members[a].x, m->p.members[b].x, m->p.members[m->n].x,
		m->p.members[m->n + 1].x);
	offspring->at = v->judge(v->problem, offspring->x);
	rc = note(m, &offspring->at);
	if (!rc)
		offer(m, offspring, first, n);
	return rc;
}

static int run(struct moead *m, struct hes_evolved *out)
{
	int rc = 0;

	hes_population_draw(&m->p, m->n);
	for (size_t i = 0; i < m->n && !rc; i++)
		rc = note(m, &m->p.members[i].at);
	for (uint32_t g = 0; g < m->p.o->generations; g++)
		for (size_t i = 0; i < m->n && !rc; i++)
			rc = step(m, i);
	return rc ? rc : hes_population_collect(&m->p, m->n, out);
}

int hes_moead(const struct hes_evolvable *v, const struct hes_evolve_options *o, struct hes_evolved *out)
{
	struct moead m = { .n = o->population, .neighbours = o->population < NEIGHBOURS ? o->population : NEIGHBOURS };
	int rc = hes_population_init(&m.p, v, o, m.n + 2);

	if (rc)
		return rc;
	rc = run(&m, out);
	hes_pareto_free(&m.front);
	hes_population_finish(&m.p);
	return rc;
}
