/*
 * halfplanes.c - the area that half-planes leave of a rectangle; see exact.h.
 */
#include <stdlib.h>

#include "plan/assign/halfplanes.h"

/* Cut a convex polygon with x * wx + y * wy >= least. @return its corners left */
static size_t cut(const struct hes_corner *v, size_t n, double wx, double wy, double least, struct hes_corner *out)
{
	size_t m = 0;

	for (size_t i = 0; i < n; i++) {
		const struct hes_corner *a = &v[i], *b = &v[(i + 1) % n];
		double da = a->x * wx + a->y * wy - least, db = b->x * wx + b->y * wy - least;

		if (da >= 0)
			out[m++] = *a;
		if ((da < 0) != (db < 0)) {
			double t = da / (da - db);

			out[m++] = (struct hes_corner){ a->x + t * (b->x - a->x), a->y + t * (b->y - a->y) };
		}
	}
	return m;
}

static double area(const struct hes_corner *v, size_t n)
{
	double twice = 0;

	for (size_t i = 1; i + 1 < n; i++)
		twice += (v[i].x - v[0].x) * (v[i + 1].y - v[0].y) - (v[i + 1].x - v[0].x) * (v[i].y - v[0].y);
	return twice / 2;
}

double hes_halfplanes_area(const struct hes_halfplane *h, size_t n, const struct hes_box *box,
			   struct hes_corner *room)
{
	const double width = box->hi.energy_mj - box->lo.energy_mj, height = box->hi.jct_us - box->lo.jct_us;
	struct hes_corner *now = room, *next = room + n + 4;
	size_t corners = 4;

	/* In units of the box, from its low corner. */
	now[0] = (struct hes_corner){ 0, 0 };
	now[1] = (struct hes_corner){ 1, 0 };
	now[2] = (struct hes_corner){ 1, 1 };
	now[3] = (struct hes_corner){ 0, 1 };
	for (size_t i = 0; i < n && corners; i++) {
		double low = h[i].w.energy * box->lo.energy_mj + h[i].w.jct * box->lo.jct_us;
		struct hes_corner *spare = now;

		corners = cut(now, corners, h[i].w.energy * width, h[i].w.jct * height, h[i].least - low, next);
		now = next;
		next = spare;
	}
	return area(now, corners);
}

double hes_halfplanes_bound(const struct hes_halfplane *h, size_t n, const struct hes_objectives *reference)
{
	const struct hes_box box = { { 0, 0 }, *reference };
	struct hes_corner *room = calloc(HES_CORNERS(n), sizeof(*room));
	double bound = room ? hes_halfplanes_area(h, n, &box, room) : -1;

	free(room);
	return bound;
}
