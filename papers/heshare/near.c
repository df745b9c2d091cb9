/*
 * near.c - weights solved by auction, level by level; see near.h.
 */
#include "near.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "auction.h"

#define END_WEIGHT \
	1e-4 /* of the other objective at each end of the front, in units of the least of each */
#define LEVELS 5

const struct hes_near_options hes_near_defaults = {
	.step = 0.005, .tolerance = 2e-3, .weights = 0, .threads = 1
};

struct point {
	struct hes_objectives at;
	uint32_t *gpu_of;         /* [n] owned */
	struct hes_halfplane out; /* what its weights exclude */
	int rc;
};

struct near {
	const struct hes_assign *a;
	const struct hes_near_options *o;
	struct hes_auction *auction;
	struct point *points; /* of all solves, */
	size_t n_points;
	struct point **front; /* the front, by rising energy */
	size_t n_front;
	struct hes_objectives unit; /* sums of the jobs' least */
};

static void find_unit(struct near *x)
{
	const struct hes_assign *a = x->a;

	for (size_t i = 0; i < a->n; i++) {
		struct hes_cost least = { INFINITY, INFINITY };

		for (size_t t = 0; t < a->n_types; t++) {
			least.energy_mj = fmin(least.energy_mj, a->cost[t * a->n + i].energy_mj);
			least.time_us = fmin(least.time_us, a->cost[t * a->n + i].time_us);
		}
		x->unit.energy_mj += least.energy_mj;
		x->unit.jct_us += least.time_us;
	}
	x->unit.energy_mj = fmax(x->unit.energy_mj, 1e-6);
	x->unit.jct_us = fmax(x->unit.jct_us, 1e-6);
}

static struct hes_weights weights_of(const struct near *x, double energy, double jct)
{
	return (struct hes_weights){ energy / x->unit.energy_mj, jct / x->unit.jct_us };
}

static void solve(const struct near *x, struct point *p, struct hes_assignment *judged)
{
	uint64_t bids;

	p->rc = hes_auction_solve(x->auction, &p->out.w, x->o->step, p->gpu_of, &p->out.least,
				  &bids);
	if (p->rc)
		return;
	memcpy(judged->gpu_of, p->gpu_of, x->a->n * sizeof(*p->gpu_of));
	hes_assign_evaluate(x->a, judged);
	p->at = judged->at;
}

/* The last @n points, at their weights. */
static int solve_all(struct near *x, size_t n)
{
	struct hes_assignment *judged = hes_assignments_new(x->a, n);
	struct point *points = &x->points[x->n_points - n];
	int rc = 0;

	if (!judged)
		return -ENOMEM;
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)x->o->threads)
	for (size_t i = 0; i < n; i++)
		solve(x, &points[i], &judged[i]);
	for (size_t i = 0; i < n && !rc; i++)
		rc = points[i].rc;
	free(judged);
	return rc;
}

static int add_point(struct near *x, const struct hes_weights *w)
{
	struct point *p = &x->points[x->n_points];

	*p = (struct point){ .out = { *w, 0 }, .gpu_of = calloc(x->a->n + 1, sizeof(*p->gpu_of)) };
	if (!p->gpu_of)
		return -ENOMEM;
	x->n_points++;
	return 0;
}

/* The points that are not dominated. */
static int gather(struct near *x)
{
	struct hes_pareto front = { 0 };
	int rc = 0;

	for (size_t i = 0; i < x->n_points && rc >= 0; i++)
		rc = hes_pareto_insert(&front, &x->points[i].at, i);
	x->n_front = front.n;
	for (size_t i = 0; i < front.n; i++)
		x->front[i] = &x->points[front.v[i].tag];
	hes_pareto_free(&front);
	return rc < 0 ? rc : 0;
}

/* The most that the hull can gain in a gap, as a part of the front's box: a triangle. */
static double part_of(const struct near *x, size_t gap)
{
	const struct hes_objectives *first = &x->front[0]->at,
				    *last = &x->front[x->n_front - 1]->at;
	const struct hes_objectives *p = &x->front[gap]->at, *q = &x->front[gap + 1]->at;

	return (q->energy_mj - p->energy_mj) / (last->energy_mj - first->energy_mj) *
	       ((p->jct_us - q->jct_us) / (first->jct_us - last->jct_us)) / 2;
}

/* Weights at which the ends of a gap cost the same. */
static struct hes_weights level(const struct near *x, size_t gap)
{
	const struct hes_objectives *p = &x->front[gap]->at, *q = &x->front[gap + 1]->at;
	const double jct = (q->energy_mj - p->energy_mj) / x->unit.energy_mj;
	const double energy = (p->jct_us - q->jct_us) / x->unit.jct_us;

	return weights_of(x, energy / (energy + jct), jct / (energy + jct));
}

static size_t most_points(const struct near *x)
{
	const size_t all = ((size_t)1 << LEVELS) + 1;

	return x->o->weights && x->o->weights < all ? (x->o->weights > 2 ? x->o->weights : 2) : all;
}

static int search(struct near *x)
{
	const struct hes_weights ends[] = {
		weights_of(x, 1 - END_WEIGHT, END_WEIGHT),
		weights_of(x, END_WEIGHT, 1 - END_WEIGHT),
	};
	int rc = add_point(x, &ends[0]);

	if (!rc)
		rc = add_point(x, &ends[1]);
	if (!rc)
		rc = solve_all(x, 2);
	for (int i = 0; i < LEVELS && !rc; i++) {
		const size_t before = x->n_points;

		rc = gather(x);
		for (size_t g = 0; !rc && g + 1 < x->n_front && x->n_points < most_points(x); g++)
			if (part_of(x, g) > x->o->tolerance) {
				const struct hes_weights w = level(x, g);

				rc = add_point(x, &w);
			}
		if (rc || x->n_points == before)
			break;
		rc = solve_all(x, x->n_points - before);
	}
	return rc ? rc : gather(x);
}

static int collect(const struct near *x, struct hes_exact_front *out)
{
	struct hes_assignment *v = hes_assignments_new(x->a, x->n_front);
	struct hes_halfplane *halfplanes = calloc(x->n_points, sizeof(*halfplanes));

	if (!v || !halfplanes) {
		free(v);
		free(halfplanes);
		return -ENOMEM;
	}
	for (size_t i = 0; i < x->n_front; i++) {
		memcpy(v[i].gpu_of, x->front[i]->gpu_of, x->a->n * sizeof(*v[i].gpu_of));
		hes_assign_evaluate(x->a, &v[i]);
	}
	for (size_t i = 0; i < x->n_points; i++)
		halfplanes[i] = x->points[i].out;
	*out = (struct hes_exact_front){
		{ v, x->n_front }, halfplanes, x->n_points, (uint32_t)x->n_points, 0
	};
	return 0;
}

int hes_near_run(const struct hes_assign *a, const struct hes_near_options *o,
		 struct hes_exact_front *out)
{
	struct near x = { .a = a, .o = o };
	int rc = -ENOMEM;

	find_unit(&x);
	x.auction = hes_auction_new(a);
	x.points = calloc(most_points(&x), sizeof(*x.points));
	x.front = calloc(most_points(&x), sizeof(struct point *));
	if (x.auction && x.points && x.front)
		rc = search(&x);
	if (!rc)
		rc = collect(&x, out);
	for (size_t i = 0; x.points && i < x.n_points; i++)
		free(x.points[i].gpu_of);
	free(x.points);
	free(x.front);
	hes_auction_free(x.auction);
	return rc;
}
