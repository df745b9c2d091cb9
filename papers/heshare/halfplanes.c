/*
 * halfplanes.c - a rectangle, cut by half-planes; see halfplanes.h.
 */
#include "halfplanes.h"

#include <stdlib.h>

struct corner {
	double x, y;
};

/* Cut a convex polygon with x * wx + y * wy >= least. @return its corners left */
static size_t cut(const struct corner *v, size_t n, double wx, double wy, double least,
		  struct corner *out)
{
	size_t m = 0;

	for (size_t i = 0; i < n; i++) {
		const struct corner *a = &v[i], *b = &v[(i + 1) % n];
		double da = a->x * wx + a->y * wy - least, db = b->x * wx + b->y * wy - least;

		if (da >= 0)
			out[m++] = *a;
		if ((da < 0) != (db < 0)) {
			double t = da / (da - db);

			out[m++] = (struct corner){ a->x + t * (b->x - a->x),
						    a->y + t * (b->y - a->y) };
		}
	}
	return m;
}

static double area(const struct corner *v, size_t n)
{
	double twice = 0;

	for (size_t i = 1; i + 1 < n; i++)
		twice += (v[i].x - v[0].x) * (v[i + 1].y - v[0].y) -
			 (v[i + 1].x - v[0].x) * (v[i].y - v[0].y);
	return twice / 2;
}

double hes_halfplanes_bound(const struct hes_halfplane *h, size_t n,
			    const struct hes_objectives *reference)
{
	struct corner *room = calloc(2 * (n + 4), sizeof(*room)), *now = room, *next;
	size_t corners = 4;
	double bound;

	if (!room)
		return -1;
	next = room + n + 4; /* a cut adds one corner */
	now[1].x = now[2].x = now[2].y = now[3].y = 1;
	for (size_t i = 0; i < n && corners; i++) {
		struct corner *spare = now;

		corners = cut(now, corners, h[i].w.energy * reference->energy_mj,
			      h[i].w.jct * reference->jct_us, h[i].least, next);
		now = next;
		next = spare;
	}
	bound = area(now, corners);
	free(room);
	return bound;
}
