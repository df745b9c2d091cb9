/*
 * exact.c - dichotomic search for the supported front; see exact.h.
 *
 * Points form a chain by rising energy. Each knows the gap to the next point: open, with the area
 * still possible there, or closed. The gap with the largest area is split first.
 */
#include "exact.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NO_POINT SIZE_MAX
#define END_WEIGHT \
	1e-7 /* of the other objective at each end of the front, in units of the least of each */
#define SAME 1e-12 /* relative difference due to rounding */

struct point {
	struct hes_objectives at;
	struct hes_weights w; /* of the solve that found it */
	size_t halfplane;     /* of that solve */
	uint32_t *gpu_of;     /* [n]; owned */
	size_t next;
	bool open;    /* the gap to the next point */
	double left;  /* area of the triangle there, above all half-planes and below the line */
	double width; /* area there that a front can still gain */
};

struct exact {
	const struct hes_assign *a;
	const struct hes_exact_options *o;
	struct hes_lap *lap;
	struct hes_assignment *judged; /* scratch */
	struct point *points;          /* the first two: ends of the front */
	struct hes_halfplane *halfplanes;
	size_t n_points, n_halfplanes, room;
	uint32_t solves;
	struct hes_objectives unit; /* of weights */
};

static void exact_finish(struct exact *x)
{
	for (size_t i = 0; i < x->n_points; i++)
		free(x->points[i].gpu_of);
	free(x->points);
	free(x->halfplanes);
	free(x->judged);
	hes_lap_free(x->lap);
}

/* Room for two more points and half-planes. */
static int exact_grow(struct exact *x)
{
	size_t room = x->room ? 2 * x->room : 64;
	struct point *points;
	struct hes_halfplane *halfplanes;

	if (x->n_halfplanes + 2 <= x->room)
		return 0;
	points = reallocarray(x->points, room, sizeof(*points));
	if (points)
		x->points = points;
	halfplanes = reallocarray(x->halfplanes, room, sizeof(*halfplanes));
	if (halfplanes)
		x->halfplanes = halfplanes;
	if (!points || !halfplanes)
		return -ENOMEM;
	x->room = room;
	return 0;
}

static double cost_of(const struct hes_weights *w, const struct hes_objectives *at)
{
	return w->energy * at->energy_mj + w->jct * at->jct_us;
}

static struct hes_weights weights_of(const struct exact *x, double energy, double jct)
{
	return (struct hes_weights){ energy / x->unit.energy_mj, jct / x->unit.jct_us };
}

/* The point of least cost at weights, not yet in the chain. */
static int exact_solve(struct exact *x, const struct hes_weights *w, struct point *out)
{
	struct point p = { .w = *w, .next = NO_POINT };
	double bound;
	int rc;

	p.gpu_of = calloc(x->a->n + 1, sizeof(*p.gpu_of));
	if (!p.gpu_of)
		return -ENOMEM;
	rc = hes_lap_solve(x->lap, w, p.gpu_of, &bound);
	if (rc) {
		free(p.gpu_of);
		return rc;
	}
	memcpy(x->judged->gpu_of, p.gpu_of, x->a->n * sizeof(*p.gpu_of));
	hes_assign_evaluate(x->a, x->judged);
	p.at = x->judged->at;
	p.halfplane = x->n_halfplanes;
	x->halfplanes[x->n_halfplanes++] = (struct hes_halfplane){ *w, bound };
	x->solves++;
	*out = p;
	return 0;
}

/*
 * What is still possible between a point and the next: the triangle above both half-planes and
 * below the line from point to point.
 */
static void gap_measure(struct exact *x, struct point *p)
{
	const struct point *q = &x->points[p->next];
	const struct hes_halfplane *hp = &x->halfplanes[p->halfplane],
				   *hq = &x->halfplanes[q->halfplane];
	const double width = q->at.energy_mj - p->at.energy_mj,
		     height = p->at.jct_us - q->at.jct_us;
	const double det = hp->w.energy * hq->w.jct - hq->w.energy * hp->w.jct;
	const double p_least =
		hp->least - hp->w.energy * p->at.energy_mj - hp->w.jct * q->at.jct_us;
	const double q_least =
		hq->least - hq->w.energy * p->at.energy_mj - hq->w.jct * q->at.jct_us;
	double e = 0,
	       t = 0; /* the corner where the half-planes meet, from the lower left of the box */

	if (det > 0) {
		e = fmin(fmax((p_least * hq->w.jct - q_least * hp->w.jct) / det, 0), width);
		t = fmin(fmax((q_least * hp->w.energy - p_least * hq->w.energy) / det, 0), height);
	}
	p->left = fmax(width * height - e * height - t * width, 0) / 2 /
		  (x->unit.energy_mj * x->unit.jct_us);
	p->width = p->left + width * height / 2 / (x->unit.energy_mj * x->unit.jct_us);
}

static void point_append(struct exact *x, const struct point *p)
{
	x->points[x->n_points++] = *p;
}

/* The ends of the front; one point where one assignment is best in both. */
static int exact_find_ends(struct exact *x)
{
	const struct hes_weights ends[] = {
		weights_of(x, 1 - END_WEIGHT, END_WEIGHT),
		weights_of(x, END_WEIGHT, 1 - END_WEIGHT),
	};
	struct point p, q;
	int rc = exact_grow(x);

	if (!rc)
		rc = exact_solve(x, &ends[0], &p);

	if (rc)
		return rc;
	point_append(x, &p);
	rc = exact_solve(x, &ends[1], &q);
	if (rc)
		return rc;
	if (q.at.energy_mj <= p.at.energy_mj || q.at.jct_us >= p.at.jct_us) {
		free(q.gpu_of);
		return 0;
	}
	point_append(x, &q);
	x->points[0].next = 1;
	x->points[0].open = true;
	gap_measure(x, &x->points[0]);
	return 0;
}

/* The gap with the largest area; NO_POINT: all are closed. */
static size_t gap_widest(const struct exact *x)
{
	size_t best = NO_POINT;

	for (size_t i = 0; i < x->n_points; i++)
		if (x->points[i].open &&
		    (best == NO_POINT || x->points[i].width > x->points[best].width))
			best = i;
	return best;
}

/* Weights at which the gap's ends cost the same. */
static struct hes_weights level_weights(const struct exact *x, const struct point *p,
					const struct point *q)
{
	double jct = (q->at.energy_mj - p->at.energy_mj) / x->unit.energy_mj;
	double energy = (p->at.jct_us - q->at.jct_us) / x->unit.jct_us;

	return weights_of(x, energy / (energy + jct), jct / (energy + jct));
}

/* Between a point and the next. */
static void point_insert(struct exact *x, struct point *p, struct point *found)
{
	found->next = p->next;
	found->open = p->open;
	point_append(x, found);
	p->next = x->n_points - 1;
	if (p->open) {
		gap_measure(x, p);
		gap_measure(x, &x->points[p->next]);
	}
}

static int gap_split(struct exact *x, size_t gap)
{
	struct point *p = &x->points[gap], *q = &x->points[p->next], found;
	struct hes_weights w = level_weights(x, p, q);
	double cost = cost_of(&w, &p->at);
	bool below, inside;
	int rc = exact_solve(x, &w, &found);

	if (rc)
		return rc;
	below = cost_of(&w, &found.at) < cost - SAME * cost;
	inside = found.at.energy_mj > p->at.energy_mj && found.at.jct_us > q->at.jct_us &&
		 found.at.energy_mj < q->at.energy_mj && found.at.jct_us < p->at.jct_us;
	if (!below || !inside)
		p->open = false;
	if (inside)
		point_insert(x, p, &found);
	else
		free(found.gpu_of);
	return 0;
}

static double exact_left(const struct exact *x)
{
	const struct hes_objectives *a = &x->points[0].at, *b = &x->points[x->n_points > 1].at;
	double sum = 0, box = (b->energy_mj - a->energy_mj) / x->unit.energy_mj *
			      ((a->jct_us - b->jct_us) / x->unit.jct_us);

	for (size_t i = 0; i < x->n_points; i++)
		if (x->points[i].open)
			sum += x->points[i].left;
	return sum > 0 ? sum / box : 0;
}

static int exact_search(struct exact *x)
{
	int rc = exact_find_ends(x);

	while (!rc && (x->o->weights == 0 || x->solves < x->o->weights) &&
	       (x->o->tolerance <= 0 || exact_left(x) > x->o->tolerance)) {
		size_t gap = gap_widest(x);

		if (gap == NO_POINT)
			break;
		rc = exact_grow(x);
		if (!rc)
			rc = gap_split(x, gap);
	}
	return rc;
}

static int exact_collect(struct exact *x, struct hes_exact_front *out)
{
	struct hes_assignment *v = hes_assignments_new(x->a, x->n_points);
	size_t n = 0;

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i != NO_POINT; i = x->points[i].next) {
		memcpy(v[n].gpu_of, x->points[i].gpu_of, x->a->n * sizeof(*v[n].gpu_of));
		hes_assign_evaluate(x->a, &v[n++]);
	}
	*out = (struct hes_exact_front){
		{ v, n }, x->halfplanes, x->n_halfplanes, x->solves, exact_left(x)
	};
	x->halfplanes = NULL;
	return 0;
}

static void set_unit(struct exact *x)
{
	const struct hes_assign *a = x->a;

	for (size_t i = 0; i < a->n; i++) {
		double energy_mj = INFINITY, time_us = INFINITY;

		for (size_t t = 0; t < a->n_types; t++)
			if (isfinite(a->cost[t * a->n + i].time_us)) {
				energy_mj = fmin(energy_mj, a->cost[t * a->n + i].energy_mj);
				time_us = fmin(time_us, a->cost[t * a->n + i].time_us);
			}
		x->unit.energy_mj += energy_mj;
		x->unit.jct_us += time_us;
	}
	/* All jobs can cost 0. */
	x->unit.energy_mj = fmax(x->unit.energy_mj, 1e-6);
	x->unit.jct_us = fmax(x->unit.jct_us, 1e-6);
}

int hes_exact_run(const struct hes_assign *a, const struct hes_exact_options *o,
		  struct hes_exact_front *out)
{
	struct exact x = { .a = a, .o = o };
	int rc = -ENOMEM;

	set_unit(&x);
	x.lap = hes_lap_new(a);
	x.judged = hes_assignments_new(a, 1);
	if (x.lap && x.judged)
		rc = exact_search(&x);
	if (!rc)
		rc = exact_collect(&x, out);
	exact_finish(&x);
	return rc;
}
