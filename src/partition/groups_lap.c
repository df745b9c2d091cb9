/*
 * groups_lap.c - linear assignment; see groups_lap.h.
 */
#include "partition/groups_lap.h"

#include <math.h>
#include <stddef.h>

/* Reduced costs, cost - row price - column price, are never negative, and 0 where a row has its
 * column. */
struct lap {
	uint32_t n_columns;
	const double *cost;
	uint32_t *row_of;
	double row_price[GROUPS_LAP_MOST], column_price[GROUPS_LAP_MOST];
	double distance[GROUPS_LAP_MOST]; /* from the new row, by reduced costs */
	uint32_t parent[GROUPS_LAP_MOST]; /* column before it on the shortest path, or
					     GROUPS_LAP_FREE */
	bool done[GROUPS_LAP_MOST];       /* the distance is final */
};

/* Shorten the distances of columns by way of a row that is reached from @parent at a distance. */
static void lap_relax(struct lap *l, uint32_t row, uint32_t parent, double at)
{
	const double *cost = &l->cost[(size_t)row * l->n_columns];

	for (uint32_t c = 0; c < l->n_columns; c++) {
		const double d = at + (cost[c] - l->row_price[row] - l->column_price[c]);

		if (!l->done[c] && d < l->distance[c]) {
			l->distance[c] = d;
			l->parent[c] = parent;
		}
	}
}

static uint32_t lap_nearest(const struct lap *l)
{
	uint32_t nearest = GROUPS_LAP_FREE;

	for (uint32_t c = 0; c < l->n_columns; c++)
		if (!l->done[c] && isfinite(l->distance[c]) &&
		    (nearest == GROUPS_LAP_FREE || l->distance[c] < l->distance[nearest]))
			nearest = c;
	return nearest;
}

/* Give a row a column: along the shortest path to a free one every row moves on. */
static bool lap_augment(struct lap *l, uint32_t row)
{
	uint32_t c;

	for (c = 0; c < l->n_columns; c++) {
		l->distance[c] = INFINITY;
		l->done[c] = false;
	}
	lap_relax(l, row, GROUPS_LAP_FREE, 0);
	while ((c = lap_nearest(l)) != GROUPS_LAP_FREE && l->row_of[c] != GROUPS_LAP_FREE) {
		l->done[c] = true;
		lap_relax(l, l->row_of[c], c, l->distance[c]);
	}
	if (c == GROUPS_LAP_FREE)
		return false;
	l->row_price[row] += l->distance[c];
	for (uint32_t i = 0; i < l->n_columns; i++)
		if (l->done[i]) {
			l->row_price[l->row_of[i]] += l->distance[c] - l->distance[i];
			l->column_price[i] -= l->distance[c] - l->distance[i];
		}
	for (; l->parent[c] != GROUPS_LAP_FREE; c = l->parent[c])
		l->row_of[c] = l->row_of[l->parent[c]];
	l->row_of[c] = row;
	return true;
}

bool groups_lap(uint32_t n_rows, uint32_t n_columns, const double *cost, uint32_t *row_of)
{
	struct lap l = { .n_columns = n_columns, .cost = cost, .row_of = row_of };

	for (uint32_t c = 0; c < n_columns; c++)
		row_of[c] = GROUPS_LAP_FREE;
	for (uint32_t row = 0; row < n_rows; row++)
		if (!lap_augment(&l, row))
			return false;
	return true;
}
