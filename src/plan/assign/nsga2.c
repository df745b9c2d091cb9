/*
 * nsga2.c - NSGA-II: survivors by front, then by crowding; see evolve.h.
 */
#include <math.h>

#include "plan/assign/population.h"

/* Crowding distance of one front, members by rising energy. */
static void crowd(struct hes_individual *m, size_t n)
{
	double energy = m[n - 1].at.energy_mj - m[0].at.energy_mj;
	double jct = m[0].at.jct_us - m[n - 1].at.jct_us;

	m[0].crowding = m[n - 1].crowding = INFINITY;
	for (size_t i = 1; i + 1 < n; i++)
		m[i].crowding = (m[i + 1].at.energy_mj - m[i - 1].at.energy_mj) / energy +
				(m[i - 1].at.jct_us - m[i + 1].at.jct_us) / jct;
}

static bool less_crowded(const struct hes_individual *a, const struct hes_individual *b)
{
	return a->crowding > b->crowding;
}

/* Order the first @n members best first. */
static void rank(struct hes_population *p, size_t n)
{
	hes_population_sort(p, n);
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && p->members[j].front == p->members[i].front; j++)
			;
		crowd(&p->members[i], j - i);
		hes_population_order(p, i, j - i, less_crowded);
	}
}

/* Binary tournament; members are ordered best first. */
static const struct hes_individual *tournament(const struct hes_population *p, struct hes_rng *r)
{
	uint64_t x = hes_rng_below(r, p->o->population), y = hes_rng_below(r, p->o->population);

	return &p->members[x < y ? x : y];
}

int hes_nsga2(const struct hes_evolvable *v, const struct hes_evolve_options *o, struct hes_evolved *out)
{
	struct hes_population p;
	int rc = hes_population_init(&p, v, o, 2 * (size_t)o->population);

	if (rc)
		return rc;
	hes_population_draw(&p, o->population);
	rank(&p, o->population);
	while (hes_population_goes_on(&p)) {
		hes_population_breed(&p, tournament, o->population, o->population);
		rank(&p, 2 * (size_t)o->population);
	}
	rc = hes_population_collect(&p, o->population, out);
	hes_population_finish(&p);
	return rc;
}
