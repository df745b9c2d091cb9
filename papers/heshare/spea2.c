/*
 * spea2.c - SPEA2; see search.h.
 *
 * Fitness is the strength of those that dominate a member, plus its density. The archive is thinned
 * where it is densest. Members [0, population) are the archive, followed by the children. Distances
 * are between objectives scaled to the range of all.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "search.h"
#include "base/clamp.h"

#define NONE UINT32_MAX

struct place {
	double x, y; /* objectives, scaled */
	double raw; /* sum of the strengths of its dominators; strength: how many a member dominates
		     */
	uint32_t before, behind; /* next to it on the front during thinning */
	double gap;              /* distance to the one behind */
};

struct spea2 {
	struct hes_population p;
	struct place *places;          /* [2 * population], in step with the members */
	struct hes_individual *chosen; /* [2 * population] */
	double *nearest;               /* [2 * kth + 1]: least distances, and scratch */
	double *xs, *ys, *raw;         /* [2 * population]: of the places */
	uint32_t *order;               /* [2 * population] */
	size_t kth;                    /* density is the distance to the kth nearest member */
};

static double square(double x)
{
	return x * x;
}

/* Members by rising energy. */
static void scale(struct spea2 *s, size_t n)
{
	const struct hes_individual *m = s->p.members;
	double x0 = m[0].at.energy_mj, x1 = m[n - 1].at.energy_mj, y0 = INFINITY, y1 = -INFINITY;

	for (size_t i = 0; i < n; i++) {
		y0 = lesser(y0, m[i].at.jct_us);
		y1 = greater(y1, m[i].at.jct_us);
	}
	for (size_t i = 0; i < n; i++) {
		const double x = x1 > x0 ? (m[i].at.energy_mj - x0) / (x1 - x0) : 0;
		const double y = y1 > y0 ? (m[i].at.jct_us - y0) / (y1 - y0) : 0;

		s->places[i] = (struct place){ .x = x, .y = y };
		s->xs[i] = x;
		s->ys[i] = y;
	}
}

/* The members that are not dominated, by rising x, to s->order. @return how many */
static size_t find_front(struct spea2 *s, size_t n)
{
	const struct place *v = s->places;
	size_t front = 0, last = 0;

	for (size_t i = 0; i < n; i++)
		if (i == 0 || v[i].y < v[last].y || (v[i].y == v[last].y && v[i].x == v[last].x)) {
			s->order[front++] = (uint32_t)i;
			last = i;
		}
	return front;
}

/* Raw fitness. Members by x, then y: a later one never dominates an earlier one. */
static void compare(struct spea2 *s, size_t n)
{
	struct place *v = s->places;
	const double *y = s->ys;
	double *raw = s->raw;

	for (size_t i = 0; i < n; i++)
		raw[i] = 0;
	for (size_t i = 0; i < n; i++) {
		const double level = y[i];
		double strength = 0;
		size_t behind = i + 1;

		while (behind < n && v[behind].x == v[i].x && y[behind] == level)
			behind++;
#pragma omp simd reduction(+ : strength)
		for (size_t j = behind; j < n; j++)
			strength += y[j] >= level ? 1.0 : 0.0;
#pragma omp simd
		for (size_t j = behind; j < n; j++)
			raw[j] += y[j] >= level ? strength : 0.0;
	}
	for (size_t i = 0; i < n; i++)
		v[i].raw = raw[i];
}

/* Sort a few numbers by counting smaller ones, without branches on the data. */
static void sort_few(const double *v, size_t n, double *out)
{
	for (size_t i = 0; i < n; i++) {
		size_t less = 0;

		for (size_t j = 0; j < i; j++)
			less += v[j] <= v[i];
		for (size_t j = i + 1; j < n; j++)
			less += v[j] < v[i];
		out[less] = v[i];
	}
}

/* Squared distance in x between member @i and @x; INFINITY for no member. */
static double gap_in_x(const double *xs, size_t n, size_t i, double x)
{
	return i < n ? square(xs[i] - x) : INFINITY;
}

/*
 * Distance to the kth nearest member. Members are in order of x: start with the k next in that
 * order, then take others by rising distance in x, until it exceeds the kth least distance. Least
 * distances are kept squared, rising.
 */
static double kth_distance(const struct spea2 *s, size_t at, size_t n)
{
	const size_t k = s->kth;
	const double *xs = s->xs, *ys = s->ys, x = xs[at], y = ys[at];
	size_t lo = at > k / 2 ? at - k / 2 : 0, hi, found = 0;
	double *nearest = s->nearest, left, right;

	if (n <= k)
		return INFINITY;
	lo = lo < n - k ? lo : n - k - 1;
	hi = lo + k + 1;
	for (size_t i = lo; i < hi; i++) {
		nearest[k + found] = square(xs[i] - x) + square(ys[i] - y);
		found += i != at;
	}
	sort_few(nearest + k, k, nearest);
	lo--; /* wraps around below the first member */
	left = gap_in_x(xs, n, lo, x);
	right = gap_in_x(xs, n, hi, x);
	while (lesser(left, right) < nearest[k - 1]) {
		const bool leftwards = left <= right;
		const double d = leftwards ? left + square(ys[lo] - y) : right + square(ys[hi] - y);
		size_t i = k - 1;

		if (leftwards)
			left = gap_in_x(xs, n, --lo, x);
		else
			right = gap_in_x(xs, n, ++hi, x);
		if (d >= nearest[i])
			continue;
		for (; i > 0 && nearest[i - 1] > d; i--)
			nearest[i] = nearest[i - 1];
		nearest[i] = d;
	}
	return sqrt(nearest[k - 1]);
}

/* Fitness of a member; less is better. */
static void judge(struct spea2 *s, size_t at, size_t n)
{
	s->p.members[at].crowding = s->places[at].raw + 1 / (kth_distance(s, at, n) + 2);
}

static double gap(const struct place *v, uint32_t a, uint32_t b)
{
	return a == NONE || b == NONE ? INFINITY
				      : sqrt((v[a].x - v[b].x) * (v[a].x - v[b].x) +
					     (v[a].y - v[b].y) * (v[a].y - v[b].y));
}

/* Distance to the nearest member of the front: with two objectives, one of the two next to it. */
static double nearest(const struct place *v, uint32_t a)
{
	return lesser(v[a].before == NONE ? INFINITY : v[v[a].before].gap, v[a].gap);
}

/* Whether @a is more crowded than @b at equal nearest distance: compares the second nearest, then
 * the third, ... */
static bool more_crowded(const struct place *v, uint32_t a, uint32_t b)
{
	uint32_t la = v[a].before, ra = v[a].behind, lb = v[b].before, rb = v[b].behind;

	for (;;) {
		double dla = gap(v, a, la), dra = gap(v, a, ra), dlb = gap(v, b, lb),
		       drb = gap(v, b, rb);
		double da = lesser(dla, dra), db = lesser(dlb, drb);

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

/* Remove a member from the front. */
static void unlink_place(struct place *v, uint32_t at)
{
	uint32_t before = v[at].before, behind = v[at].behind;

	if (behind != NONE)
		v[behind].before = before;
	if (before != NONE) {
		v[before].behind = behind;
		v[before].gap = gap(v, before, behind);
	}
}

/* Thin the front of @n members in s->order, rising in x, to @keep. */
static void thin(struct spea2 *s, size_t n, size_t keep)
{
	struct place *v = s->places;
	uint32_t first = s->order[0];

	for (size_t i = 0; i < n; i++) {
		v[s->order[i]].before = i ? s->order[i - 1] : NONE;
		v[s->order[i]].behind = i + 1 < n ? s->order[i + 1] : NONE;
		v[s->order[i]].gap = gap(v, s->order[i], v[s->order[i]].behind);
	}
	for (; n > keep; n--) {
		uint32_t worst = first;
		double least = nearest(v, worst);

		for (uint32_t i = v[first].behind; i != NONE; i = v[i].behind) {
			double d = nearest(v, i);

			if (d < least || (d == least && more_crowded(v, i, worst))) {
				worst = i;
				least = d;
			}
		}
		first = worst == first ? v[first].behind : first;
		unlink_place(v, worst);
	}
	n = 0;
	for (uint32_t i = first; i != NONE; i = v[i].behind)
		s->order[n++] = i;
}

static bool fitter(const struct hes_individual *a, const struct hes_individual *b)
{
	return a->crowding < b->crowding;
}

/* The members in s->order come first. */
static void put_first(struct spea2 *s, size_t front, size_t n)
{
	size_t others = front;

	for (size_t i = 0, next = 0; i < n; i++) {
		bool stays = next < front && s->order[next] == i;

		s->chosen[stays ? next : others] = s->p.members[i];
		next += stays;
		others += !stays;
	}
	memcpy(s->p.members, s->chosen, n * sizeof(*s->p.members));
}

/*
 * Environmental selection: the archive moves to the first members. If the front fills the archive,
 * the fitness of dominated members is not needed.
 */
static void select_archive(struct spea2 *s, size_t n)
{
	const size_t keep = s->p.o->population;
	size_t front;

	hes_population_order(&s->p, 0, n, hes_cheaper);
	scale(s, n);
	front = find_front(s, n);
	if (front <= keep) {
		compare(s, n);
		for (size_t i = 0; i < n; i++)
			judge(s, i, n);
		hes_population_order(&s->p, 0, n, fitter);
		return;
	}
	thin(s, front, keep);
	for (size_t i = 0; i < keep; i++)
		judge(s, s->order[i], n);
	put_first(s, keep, n);
}

static const struct hes_individual *tournament(const struct hes_population *p, struct hes_rng *r)
{
	const struct hes_individual *a = &p->members[hes_rng_below(r, p->o->population)];
	const struct hes_individual *b = &p->members[hes_rng_below(r, p->o->population)];

	return b->crowding < a->crowding ? b : a;
}

static void finish(struct spea2 *s)
{
	hes_population_finish(&s->p);
	free(s->places);
	free(s->chosen);
	free(s->nearest);
	free(s->xs);
	free(s->ys);
	free(s->raw);
	free(s->order);
}

int paper_spea2(const struct hes_evolvable *v, const struct hes_evolve_options *o,
		struct hes_evolved *out)
{
	const size_t n = 2 * (size_t)o->population;
	struct spea2 s = { .kth = (size_t)sqrt((double)n) };
	int rc = hes_population_init(&s.p, v, o, n);

	if (rc)
		return rc;
	s.places = calloc(n, sizeof(*s.places));
	s.chosen = calloc(n, sizeof(*s.chosen));
	s.nearest = calloc(2 * s.kth + 1, sizeof(*s.nearest));
	s.xs = calloc(n, sizeof(*s.xs));
	s.ys = calloc(n, sizeof(*s.ys));
	s.raw = calloc(n, sizeof(*s.raw));
	s.order = calloc(n, sizeof(*s.order));
	rc = s.places && s.chosen && s.nearest && s.xs && s.ys && s.raw && s.order ? 0 : -ENOMEM;
	if (!rc) {
		hes_population_draw(&s.p, o->population);
		select_archive(&s, o->population);
		while (hes_population_goes_on(&s.p)) {
			hes_population_breed(&s.p, tournament, o->population, o->population);
			select_archive(&s, n);
		}
		rc = hes_population_collect(&s.p, o->population, out);
	}
	finish(&s);
	return rc;
}
