/*
 * moead.c - MOEA/D: as many weighted problems as members, each solved with
 * the help of those whose weights are nearest; see search.h.
 *
 * A member's weights are its place's; what it costs there is the greater of
 * its weighted distances from the best value of each objective, each in units of the range found
 * so far (Tchebycheff). Offspring are weighed one by one, so a generation
 * is not spread over threads.
 */
#include <math.h>
#include <string.h>

#include "search.h"

#define NEIGHBOURS    20  /* weights among which parents are sought, most often, and that an offspring may win */
#define FROM_ANYWHERE 0.1 /* part of the matings whose parents may be any */

struct moead {
	struct hes_population p;             /* members [0, n): the problems'; one more to breed in */
	size_t                n, neighbours;
	struct hes_objectives cheapest, quickest; /* ends of the front of all that was found */
};

static size_t first_neighbour(const struct moead *m, size_t problem)
{
	size_t half = m->neighbours / 2, first = problem > half ? problem - half : 0;

	return first + m->neighbours > m->n ? m->n - m->neighbours : first;
}

/* fmax is a call where it must care for NaN. */
static double greater(double a, double b)
{
	return a > b ? a : b;
}

static double at_least_some(double span)
{
	return span > 0 ? span : 1;
}

static double cost(const struct moead *m, size_t problem, const struct hes_objectives *at)
{
	/* No weight is nothing, or points of the front's end would be worth as much as any beyond them. */
	double w = greater((double)problem / (double)(m->n - 1), 1e-6), u = greater(1 - w, 1e-6);

	return greater(w * (at->energy_mj - m->cheapest.energy_mj) /
			       at_least_some(m->quickest.energy_mj - m->cheapest.energy_mj),
		       u * (at->jct_us - m->quickest.jct_us) /
			       at_least_some(m->cheapest.jct_us - m->quickest.jct_us));
}

/* The ends of the front so far, to whose range objectives are scaled. */
static void note(struct moead *m, const struct hes_objectives *at)
{
	if (at->energy_mj < m->cheapest.energy_mj ||
	    (at->energy_mj == m->cheapest.energy_mj && at->jct_us < m->cheapest.jct_us))
		m->cheapest = *at;
	if (at->jct_us < m->quickest.jct_us ||
	    (at->jct_us == m->quickest.jct_us && at->energy_mj < m->quickest.energy_mj))
		m->quickest = *at;
}

static void offer(struct moead *m, const struct hes_individual *offspring, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++)
		if (cost(m, i, &offspring->at) < cost(m, i, &m->p.members[i].at)) {
			memcpy(m->p.members[i].x, offspring->x, m->p.stride);
			m->p.members[i].at = offspring->at;
		}
}

static void step(struct moead *m, size_t problem)
{
	struct hes_population *p = &m->p;
	const struct hes_evolvable *v = p->v;
	struct hes_rng r = hes_rng_fork(&p->streams, p->matings++);
	bool anywhere = hes_rng_unit(&r) < FROM_ANYWHERE;
	size_t first = anywhere ? 0 : first_neighbour(m, problem), n = anywhere ? m->n : m->neighbours;
	size_t a = first + hes_rng_below(&r, n), b = first + hes_rng_below(&r, n);
	struct hes_individual *offspring = &p->members[m->n];

	p->last += 1 + v->vary(v->problem, &r, p->scratch, p->members[a].x, p->members[b].x, offspring->x, NULL);
	offspring->at = v->judge(v->problem, offspring->x);
	note(m, &offspring->at);
	offer(m, offspring, first, n);
}

static int run(struct moead *m, struct hes_evolved *out)
{
	struct hes_population *p = &m->p;

	hes_population_draw(p, m->n);
	m->cheapest = m->quickest = p->members[0].at;
	for (size_t i = 1; i < m->n; i++)
		note(m, &p->members[i].at);
	while (hes_population_goes_on(p)) {
		p->last = 0;
		for (size_t i = 0; i < m->n; i++)
			step(m, i);
		p->evaluations += p->last;
	}
	return hes_population_collect(p, m->n, out);
}

int paper_moead(const struct hes_evolvable *v, const struct hes_evolve_options *o, struct hes_evolved *out)
{
	struct moead m = { .n = o->population, .neighbours = o->population < NEIGHBOURS ? o->population : NEIGHBOURS };
	int rc = hes_population_init(&m.p, v, o, m.n + 1);

	if (rc)
		return rc;
	rc = run(&m, out);
	hes_population_finish(&m.p);
	return rc;
}
