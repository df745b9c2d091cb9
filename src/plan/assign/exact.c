/*
 * exact.c - the dichotomic search for the supported front; see exact.h.
 *
 * Points are kept in a chain by rising energy. Each knows the gap to the next: open,
 * with what is still possible in it, or closed. The widest gap is
 * split first. A solve starts from the prices of the gap's two ends, in the
 * proportion that its weights have of theirs.
 */
#include "plan/assign/exact.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NO_POINT SIZE_MAX
#define END_WEIGHT 1e-7 /* of the other objective at either end of the front, each in units of its least */
#define SAME 1e-12      /* relative difference of costs that is rounding */

struct point {
	struct hes_objectives at;
	struct hes_weights    w;         /* at which it was found */
	size_t                halfplane; /* of that solve */
	struct hes_slots_end  end;
	uint32_t             *gpu_of;    /* [n]; owned */
	size_t                next;
	bool                  open;      /* the gap to the next point */
	int                   gaps;      /* open ones beside it, for which its end is kept */
	double                left;      /* area there of the triangle above all half-planes, below the line */
	double                width;     /* area there that a front may still win */
};

struct exact {
	const struct hes_assign        *a;
	const struct hes_exact_options *o;
	struct hes_slots               *slots;
	struct hes_assignment          *judged; /* room to evaluate in */
	struct point                   *points; /* the first two: ends of the front */
	struct hes_halfplane           *halfplanes;
	size_t                          n_points, n_halfplanes, room;
	uint32_t                        solves;
	struct hes_objectives           unit;   /* what weights are measured in */
};

static void exact_finish(struct exact *x)
{
	for (size_t i = 0; i < x->n_points; i++) {
		hes_slots_end_free(&x->points[i].end);
		free(x->points[i].gpu_of);
	}
	free(x->points);
	free(x->halfplanes);
	free(x->judged);
	hes_slots_free(x->slots);
}

/* Room for two more points and half-planes. */
static int make_room(struct exact *x)
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

/* The part of weights that is the completion times'; the rest is the energy's. */
static double jct_part(const struct exact *x, const struct hes_weights *w)
{
	return w->jct * x->unit.jct_us;
}

static struct hes_weights weights_of(const struct exact *x, double energy, double jct)
{
	return (struct hes_weights){ energy / x->unit.energy_mj, jct / x->unit.jct_us };
}

/* The point of least cost at weights. It is not in the chain yet; there is room for it. */
static int solve(struct exact *x, const struct hes_weights *w, const struct hes_slots_start *start, struct point *out)
{
	struct point p = { .w = *w, .next = NO_POINT };
	double bound;
	int rc;

	p.gpu_of = calloc(x->a->n + 1, sizeof(*p.gpu_of));
	if (!p.gpu_of)
		return -ENOMEM;
	rc = hes_slots_solve(x->slots, w, start, p.gpu_of, &bound);
	if (!rc)
		rc = hes_slots_save(x->slots, &p.end);
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

static void drop(struct point *p)
{
	hes_slots_end_free(&p->end);
	free(p->gpu_of);
}

/*
 * What is still possible between a point and the next: the triangle above both half-planes and below the line from
 * point to point.
 */
static void measure(struct exact *x, struct point *p)
{
	const struct point *q = &x->points[p->next];
	const struct hes_halfplane *hp = &x->halfplanes[p->halfplane], *hq = &x->halfplanes[q->halfplane];
	const double width = q->at.energy_mj - p->at.energy_mj, height = p->at.jct_us - q->at.jct_us;
	const double det = hp->w.energy * hq->w.jct - hq->w.energy * hp->w.jct;
	const double p_least = hp->least - hp->w.energy * p->at.energy_mj - hp->w.jct * q->at.jct_us;
	const double q_least = hq->least - hq->w.energy * p->at.energy_mj - hq->w.jct * q->at.jct_us;
	double e = 0, t = 0; /* the corner where the half-planes meet, from the lower left of the box */

	if (det > 0) {
		e = fmin(fmax((p_least * hq->w.jct - q_least * hp->w.jct) / det, 0), width);
		t = fmin(fmax((q_least * hp->w.energy - p_least * hq->w.energy) / det, 0), height);
	}
	p->left = fmax(width * height - e * height - t * width, 0) / 2 / (x->unit.energy_mj * x->unit.jct_us);
	p->width = p->left + width * height / 2 / (x->unit.energy_mj * x->unit.jct_us);
}

static void append(struct exact *x, const struct point *p)
{
	x->points[x->n_points++] = *p;
}

/* The ends of the front. One point where one assignment is best in both. */
static int find_ends(struct exact *x)
{
	const struct hes_slots_start nothing = { NULL, NULL, 0, 0 };
	const struct hes_weights ends[] = {
		weights_of(x, 1 - END_WEIGHT, END_WEIGHT),
		weights_of(x, END_WEIGHT, 1 - END_WEIGHT),
	};
	struct point p, q;
	int rc = make_room(x);

	if (!rc)
		rc = solve(x, &ends[0], &nothing, &p);

	if (rc)
		return rc;
	append(x, &p);
	rc = solve(x, &ends[1], &nothing, &q);
	if (rc)
		return rc;
	if (q.at.energy_mj <= p.at.energy_mj || q.at.jct_us >= p.at.jct_us) {
		drop(&q);
		return 0;
	}
	append(x, &q);
	x->points[0].next = 1;
	x->points[0].open = true;
	x->points[0].gaps = x->points[1].gaps = 1;
	measure(x, &x->points[0]);
	return 0;
}

/* The gap with most to win; NO_POINT: all are closed. */
static size_t widest(const struct exact *x)
{
	size_t best = NO_POINT;

	for (size_t i = 0; i < x->n_points; i++)
		if (x->points[i].open && (best == NO_POINT || x->points[i].width > x->points[best].width))
			best = i;
	return best;
}

/* Weights between those of two points are that much of each; the prices are in the same proportion. */
static struct hes_slots_start between(const struct exact *x, const struct hes_weights *w, const struct point *p,
				      const struct point *q)
{
	double from = jct_part(x, &p->w), share = (jct_part(x, w) - from) / (jct_part(x, &q->w) - from);

	share = fmin(fmax(share, 0), 1);
	return (struct hes_slots_start){ &p->end, &q->end, 1 - share, share };
}

/* Weights at which the gap's ends cost the same. */
static struct hes_weights level(const struct exact *x, const struct point *p, const struct point *q)
{
	double jct = (q->at.energy_mj - p->at.energy_mj) / x->unit.energy_mj;
	double energy = (p->at.jct_us - q->at.jct_us) / x->unit.jct_us;

	return weights_of(x, energy / (energy + jct), jct / (energy + jct));
}

static void leave(struct point *p)
{
	if (--p->gaps == 0)
		hes_slots_end_free(&p->end);
}

static void close_gap(struct exact *x, struct point *p)
{
	p->open = false;
	leave(p);
	leave(&x->points[p->next]);
}

/* Between a point and the next. */
static void insert(struct exact *x, struct point *p, struct point *found)
{
	found->next = p->next;
	found->open = p->open;
	found->gaps = p->open ? 2 : 0;
	if (!found->open)
		hes_slots_end_free(&found->end);
	append(x, found);
	p->next = x->n_points - 1;
	if (p->open) {
		measure(x, p);
		measure(x, &x->points[p->next]);
	}
}

static int split(struct exact *x, size_t gap)
{
	struct point *p = &x->points[gap], *q = &x->points[p->next], found;
	struct hes_weights w = level(x, p, q);
	struct hes_slots_start start = between(x, &w, p, q);
	double cost = cost_of(&w, &p->at);
	bool below, beside;
	int rc = solve(x, &w, &start, &found);

	if (rc)
		return rc;
	below = cost_of(&w, &found.at) < cost - SAME * cost;
	beside = found.at.energy_mj > p->at.energy_mj && found.at.jct_us > q->at.jct_us &&
		 found.at.energy_mj < q->at.energy_mj && found.at.jct_us < p->at.jct_us;
	if (!below || !beside)
		close_gap(x, p);
	if (beside)
		insert(x, p, &found);
	else
		drop(&found);
	return 0;
}

static double left(const struct exact *x)
{
	const struct hes_objectives *a = &x->points[0].at, *b = &x->points[x->n_points > 1].at;
	double sum = 0, box = (b->energy_mj - a->energy_mj) / x->unit.energy_mj * ((a->jct_us - b->jct_us) / x->unit.jct_us);

	for (size_t i = 0; i < x->n_points; i++)
		if (x->points[i].open)
			sum += x->points[i].left;
	return sum > 0 ? sum / box : 0;
}

static int search(struct exact *x)
{
	int rc = find_ends(x);

	while (!rc && (x->o->weights == 0 || x->solves < x->o->weights) &&
	       (x->o->tolerance <= 0 || left(x) > x->o->tolerance)) {
		size_t gap = widest(x);

		if (gap == NO_POINT)
			break;
		rc = make_room(x);
		if (!rc)
			rc = split(x, gap);
	}
	return rc;
}

static int collect(struct exact *x, struct hes_exact_front *out)
{
	struct hes_assignment *v = hes_assignments_new(x->a, x->n_points);
	size_t n = 0;

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i != NO_POINT; i = x->points[i].next) {
		memcpy(v[n].gpu_of, x->points[i].gpu_of, x->a->n * sizeof(*v[n].gpu_of));
		hes_assign_evaluate(x->a, &v[n++]);
	}
	*out = (struct hes_exact_front){ { v, n }, x->halfplanes, x->n_halfplanes, x->solves, left(x) };
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
	/* Jobs that take nothing at all are no unit. */
	x->unit.energy_mj = fmax(x->unit.energy_mj, 1e-6);
	x->unit.jct_us = fmax(x->unit.jct_us, 1e-6);
}

int hes_exact_run(const struct hes_assign *a, const struct hes_exact_options *o, struct hes_exact_front *out)
{
	struct exact x = { .a = a, .o = o };
	int rc = -ENOMEM;

	set_unit(&x);
	x.slots = hes_slots_new(a);
	x.judged = hes_assignments_new(a, 1);
	if (x.slots && x.judged)
		rc = search(&x);
	if (!rc)
		rc = collect(&x, out);
	exact_finish(&x);
	return rc;
}
