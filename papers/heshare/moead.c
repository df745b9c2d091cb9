/*
 * moead.c - MOEA/D; see search.h.
 *
 * Each member has its own weights. Its cost is the Tchebycheff distance: the greater of the two
 * weighted distances from the best value found, each in units of the range found. Children are
 * compared one by one, so a generation uses one thread.
 */
#include <math.h>
#include <string.h>

#include "search.h"

#define NEAREST \
	20 /* members with the nearest weights: parents, and members that a child can replace */
#define FROM_ANYWHERE 0.1 /* part of the matings with parents from all members */

struct moead {
	struct hes_population p; /* members [0, n), and one for the child */
	size_t n, n_nearest;
	struct hes_objectives cheapest, quickest; /* ends of the front of all that was found */
};

static size_t first_nearest(const struct moead *m, size_t problem)
{
	size_t half = m->n_nearest / 2, first = problem > half ? problem - half : 0;

	return first + m->n_nearest > m->n ? m->n - m->n_nearest : first;
}

/* Without the NaN handling of fmax(). */
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
	/* No weight is 0, so that ends of the front differ from points that they dominate. */
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

static void offer(struct moead *m, const struct hes_individual *child, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++)
		if (cost(m, i, &child->at) < cost(m, i, &m->p.members[i].at)) {
			memcpy(m->p.members[i].x, child->x, m->p.stride);
			m->p.members[i].at = child->at;
		}
}

static void step(struct moead *m, size_t problem)
{
	struct hes_population *p = &m->p;
	const struct hes_evolvable *v = p->v;
	struct hes_rng r = hes_rng_fork(&p->streams, p->matings++);
	bool anywhere = hes_rng_unit(&r) < FROM_ANYWHERE;
	size_t first = anywhere ? 0 : first_nearest(m, problem), n = anywhere ? m->n : m->n_nearest;
	size_t a = first + hes_rng_below(&r, n), b = first + hes_rng_below(&r, n);
	struct hes_individual *child = &p->members[m->n];

	p->last += 1 + v->vary(v->problem, &r, p->scratch, p->members[a].x, p->members[b].x,
			       child->x, NULL);
	child->at = v->judge(v->problem, child->x);
	note(m, &child->at);
	offer(m, child, first, n);
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

int paper_moead(const struct hes_evolvable *v, const struct hes_evolve_options *o,
		struct hes_evolved *out)
{
	struct moead m = { .n = o->population,
			   .n_nearest = o->population < NEAREST ? o->population : NEAREST };
	int rc = hes_population_init(&m.p, v, o, m.n + 1);

	if (rc)
		return rc;
	rc = run(&m, out);
	hes_population_finish(&m.p);
	return rc;
}
