/*
 * place.c - place labels by descent: each label in turn takes the best of a ring of candidates,
 * until none moves; see place.h.
 */
#include "report/place.h"

#include <math.h>
#include <stdbool.h>

#define ROUNDS       12
#define DIRECTIONS   16
#define DISTANCES    6
#define POINT_RADIUS 7.0 /* px kept free around a point */

static double overlap(const struct box *a, const struct box *b)
{
	double w = fmin(a->x + a->w, b->x + b->w) - fmax(a->x, b->x);
	double h = fmin(a->y + a->h, b->y + b->h) - fmax(a->y, b->y);

	return w > 0 && h > 0 ? w * h : 0;
}

/* Candidate c: around the point, nearest ring first, starting on its right. */
static struct box candidate(const struct place_label *l, int c)
{
	/* A table, since sin and cos may differ in the last bit between C libraries. */
	static const double unit[DIRECTIONS][2] = {
		{ 1, 0 },         { 0.92, -0.38 },  { 0.92, 0.38 },   { 0.71, -0.71 },
		{ 0.71, 0.71 },   { -1, 0 },        { -0.92, -0.38 }, { -0.92, 0.38 },
		{ -0.71, -0.71 }, { -0.71, 0.71 },  { 0, -1 },        { 0, 1 },
		{ 0.38, -0.92 },  { -0.38, -0.92 }, { 0.38, 0.92 },   { -0.38, 0.92 },
	};
	static const double rings[DISTANCES] = { 9, 16, 26, 40, 58, 80 };
	const double *u = unit[c % DIRECTIONS];
	double d = rings[c / DIRECTIONS];
	double x = l->x + u[0] * d, y = l->y + u[1] * d;

	/* The nearest edge or corner of the label is what is at that distance. */
	return (struct box){ x - (u[0] > 0.3    ? 0
				  : u[0] < -0.3 ? l->w
						: l->w / 2),
			     y - (u[1] > 0.3    ? 0
				  : u[1] < -0.3 ? l->h
						: l->h / 2),
			     l->w, l->h };
}

static double cost(const struct place_label *labels, size_t n, size_t self, const struct box *at,
		   int c, const struct box *avoid, size_t n_avoid, const struct box *bounds)
{
	double sum = c / DIRECTIONS * 12.0 + c % DIRECTIONS * 0.5;

	sum += 50 * (at->w * at->h - overlap(at, bounds));
	for (size_t i = 0; i < n; i++) {
		struct box point = { labels[i].x - POINT_RADIUS, labels[i].y - POINT_RADIUS,
				     2 * POINT_RADIUS, 2 * POINT_RADIUS };

		sum += 4 * overlap(at, &point);
		if (i != self)
			sum += 8 * overlap(at, &labels[i].at);
	}
	for (size_t i = 0; i < n_avoid; i++)
		sum += 2 * overlap(at, &avoid[i]);
	return sum;
}

void place_labels(struct place_label *labels, size_t n, const struct box *avoid, size_t n_avoid,
		  const struct box *bounds)
{
	bool moved = true;

	for (size_t i = 0; i < n; i++)
		labels[i].at = candidate(&labels[i], 0);
	for (int round = 0; round < ROUNDS && moved; round++) {
		moved = false;
		for (size_t i = 0; i < n; i++) {
			struct box best = labels[i].at;
			double least = INFINITY;

			for (int c = 0; c < DIRECTIONS * DISTANCES; c++) {
				struct box at = candidate(&labels[i], c);
				double k = cost(labels, n, i, &at, c, avoid, n_avoid, bounds);

				if (k < least) {
					least = k;
					best = at;
				}
			}
			moved = moved || best.x != labels[i].at.x || best.y != labels[i].at.y;
			labels[i].at = best;
		}
	}
}
