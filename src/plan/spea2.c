/*
 * spea2.c - SPEA2: fitness by who dominates whom and how densely one's
 * neighbourhood is taken, and an archive that is thinned where it is densest;
 * see evolve.h.
 *
 * Members [0, population) are the archive, those behind it the offspring.
 * Distances are between objectives scaled to the range of all.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "plan/population.h"

struct place {
	double   x, y;       /* objectives, scaled */
	double   fitness;    /* less is better; below 1: dominated by none */
	uint32_t strength;   /* how many it dominates */
	uint32_t before, behind; /* neighbours on the front while it is thinned */
};

struct spea2 {
	struct hes_population p;
	struct place         *places;  /* [2 * population], in step with the members */
	struct hes_member    *chosen;  /* [2 * population] */
	double               *nearest; /* [kth] */
	uint32_t             *order;   /* [2 * population] */
	size_t                kth;     /* the neighbour whose distance tells the density */
};

static void scale(struct spea2 *s, size_t n)
{
	const struct hes_member *m = s->p.members;
	double x0 = INFINITY, x1 = -INFINITY, y0 = INFINITY, y1 = -INFINITY;

	for (size_t i = 0; i < n; i++) {
		x0 = fmin(x0, m[i].at.energy_mj);
		x1 = fmax(x1, m[i].at.energy_mj);
		y0 = fmin(y0, m[i].at.jct_us);
		y1 = fmax(y1, m[i].at.jct_us);
	}
	for (size_t i = 0; i < n; i++)
		s->places[i] = (struct place){
			.x = x1 > x0 ? (m[i].at.energy_mj - x0) / (x1 - x0) : 0,
			.y = y1 > y0 ? (m[i].at.jct_us - y0) / (y1 - y0) : 0,
		};
}

static bool dominates(const struct place *a, const struct place *b)
{
	return a->x <= b->x && a->y <= b->y && (a->x < b->x || a->y < b->y);
}

/* Raw fitness: the strengths of all that dominate a member. Members are in order of x, then y. */
static void compare(struct spea2 *s, size_t n)
{
	struct place *v = s->places;

	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			v[i].strength += dominates(&v[i], &v[j]);
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			if (dominates(&v[i], &v[j]))
				v[j].fitness += v[i].strength;
}

/* Keep the least distances, rising. @return how many there are now */
static size_t keep_near(double *nearest, size_t n, size_t most, double d)
{
	size_t i;

	if (n == most && d >= nearest[n - 1])
		return n;
	n += n < most;
	for (i = n - 1; i > 0 && nearest[i - 1] > d; i--)
		nearest[i] = nearest[i - 1];
	nearest[i] = d;
	return n;
}

/* Distance to the kth neighbour. Members lie in order of x: beyond that distance there is no need to look. */
static double kth_distance(const struct spea2 *s, size_t at, size_t n)
{
	const struct place *v = s->places;
	size_t lo = at, hi = at + 1, found = 0;

	for (;;) {
		double left = lo > 0 ? v[at].x - v[lo - 1].x : INFINITY;
		double right = hi < n ? v[hi].x - v[at].x : INFINITY;
		size_t i;

		if (isinf(left) && isinf(right))
			break;
		if (found == s->kth && fmin(left, right) * fmin(left, right) >= s->nearest[found - 1])
			break;
		i = left <= right ? --lo : hi++;
		found = keep_near(s->nearest, found, s->kth,
				  (v[i].x - v[at].x) * (v[i].x - v[at].x) + (v[i].y - v[at].y) * (v[i].y - v[at].y));
	}
	return found ? sqrt(s->nearest[found - 1]) : 0;
}

static int by_x(const void *a, const void *b)
{
	const struct hes_member *x = a, *y = b;

	if (x->at.energy_mj != y->at.energy_mj)
		return x->at.energy_mj < y->at.energy_mj ? -1 : 1;
	if (x->at.jct_us != y->at.jct_us)
		return x->at.jct_us < y->at.jct_us ? -1 : 1;
	return x->x < y->x ? -1 : x->x > y->x;
}

static void judge(struct spea2 *s, size_t n)
{
	qsort(s->p.members, n, sizeof(*s->p.members), by_x);
	scale(s, n);
	compare(s, n);
	for (size_t i = 0; i < n; i++) {
		s->places[i].fitness += 1 / (kth_distance(s, i, n) + 2);
		s->p.members[i].crowding = s->places[i].fitness;
	}
}

static double gap(const struct place *v, uint32_t a, uint32_t b)
{
	return b == UINT32_MAX || a == UINT32_MAX ? INFINITY : hypot(v[a].x - v[b].x, v[a].y - v[b].y);
}

/*
 * Whether @a is more crowded than @b: its nearest neighbour is nearer, of equals the next.
 * Along a front of two objectives the nearest are the next on either side.
 */
static bool more_crowded(const struct place *v, uint32_t a, uint32_t b)
{
	uint32_t la = v[a].before, ra = v[a].behind, lb = v[b].before, rb = v[b].behind;

	for (;;) {
		double dla = gap(v, a, la), dra = gap(v, a, ra), dlb = gap(v, b, lb), drb = gap(v, b, rb);
		double da = fmin(dla, dra), db = fmin(dlb, drb);

		if (da != db || isinf(da))
			return da < db;
		if (dla <= dra)
			la = v[la].before;
		else
			ra = v[ra].behind;
		if (dlb <= drb)
			lb = v[lb].before;
		else
			rb = v[rb].behind;
	}
}

/* Thin the front of @n members in s->order, rising in x, to @keep. @return how many are left */
static size_t thin(struct spea2 *s, size_t n, size_t keep)
{
	struct place *v = s->places;
	size_t left = n;

	for (size_t i = 0; i < n; i++) {
		v[s->order[i]].before = i ? s->order[i - 1] : UINT32_MAX;
		v[s->order[i]].behind = i + 1 < n ? s->order[i + 1] : UINT32_MAX;
	}
	for (; left > keep; left--) {
		size_t worst = 0;

		for (size_t i = 1; i < left; i++)
			if (more_crowded(v, s->order[i], s->order[worst]))
				worst = i;
		if (v[s->order[worst]].before != UINT32_MAX)
			v[v[s->order[worst]].before].behind = v[s->order[worst]].behind;
		if (v[s->order[worst]].behind != UINT32_MAX)
			v[v[s->order[worst]].behind].before = v[s->order[worst]].before;
		memmove(&s->order[worst], &s->order[worst + 1], (left - worst - 1) * sizeof(*s->order));
	}
	return left;
}

static int fitter(const void *a, const void *b)
{
	const struct hes_member *x = a, *y = b;

	if (x->crowding != y->crowding)
		return x->crowding < y->crowding ? -1 : 1;
	return by_x(a, b);
}

/* Environmental selection: the archive becomes the first members. */
static void select_archive(struct spea2 *s, size_t n)
{
	const size_t keep = s->p.o->population;
	size_t front = 0, chosen = 0;

	judge(s, n);
	for (size_t i = 0; i < n; i++)
		if (s->places[i].fitness < 1)
			s->order[front++] = (uint32_t)i;
	if (front <= keep) {
		qsort(s->p.members, n, sizeof(*s->p.members), fitter);
		return;
	}
	front = thin(s, front, keep);
	for (size_t i = 0, next = 0; i < n; i++) {
		bool stays = next < front && s->order[next] == i;

		s->chosen[stays ? next : keep + chosen] = s->p.members[i];
		next += stays;
		chosen += !stays;
	}
	memcpy(s->p.members, s->chosen, n * sizeof(*s->p.members));
}

static const struct hes_member *tournament(const struct hes_population *p, struct hes_rng *r)
{
	const struct hes_member *a = &p->members[hes_rng_below(r, p->o->population)];
	const struct hes_member *b = &p->members[hes_rng_below(r, p->o->population)];

	return b->crowding < a->crowding ? b : a;
}

static void finish(struct spea2 *s)
{
	hes_population_finish(&s->p);
	free(s->places);
	free(s->chosen);
	free(s->nearest);
	free(s->order);
}

int hes_spea2(const struct hes_evolvable *v, const struct hes_evolve_options *o, struct hes_evolved *out)
{
	const size_t n = 2 * (size_t)o->population;
	struct spea2 s = { .kth = (size_t)sqrt((double)n) };
	int rc = hes_population_init(&s.p, v, o, n);

	if (rc)
		return rc;
	s.places = calloc(n, sizeof(*s.places));
	s.chosen = calloc(n, sizeof(*s.chosen));
	s.nearest = calloc(s.kth, sizeof(*s.nearest));
	s.order = calloc(n, sizeof(*s.order));
	rc = s.places && s.chosen && s.nearest && s.order ? 0 : -ENOMEM;
	if (!rc) {
		hes_population_draw(&s.p, o->population);
		select_archive(&s, o->population);
		for (uint32_t i = 0; i < o->generations; i++) {
			hes_population_breed(&s.p, tournament, o->population, o->population);
			select_archive(&s, n);
		}
		rc = hes_population_collect(&s.p, o->population, out);
	}
	finish(&s);
	return rc;
}
