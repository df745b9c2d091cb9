/*
 * slots_low.c - what each job pays at least in each group: where it starts,
 * and the bound on every assignment; see slots.h and slots_state.h.
 *
 * Most groups are far too dear for most jobs, and stay so from solve to solve.
 * So lower bounds are carried along: within a solve they fall no more than prices
 * did; between two solves, the least of a sum is no less than the sum of the
 * leasts. Only groups that these do not rule out are looked at.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/assign/slots_state.h"

#define ROUNDING 1e-13 /* of the greatest cost: what sums may be off */

/* What a job pays at least in a group, cost and price. */
static inline double least_in_group(const struct hes_slots *s, uint32_t job, size_t group)
{
	const struct slot_line cost = slots_line(s, job, group);
	const double *restrict price = s->price + group * s->room, *restrict position = s->position;
	const size_t n = s->open[group];
	double least = INFINITY;

	SLOTS_LEAST
	for (size_t p = 0; p < n; p++) {
		double pays = (cost.base + cost.slope * position[p]) + price[p];

		least = pays < least ? pays : least;
	}
	return least;
}

/* The column of a group where a job pays that much. */
static size_t column_at(const struct hes_slots *s, uint32_t job, size_t group, double pays)
{
	const struct slot_line cost = slots_line(s, job, group);
	size_t c = group * s->room;

	while ((cost.base + cost.slope * s->position[c - group * s->room]) + s->price[c] > pays)
		c++;
	return c;
}

/*
 * What a job pays at least, if that is below @least; and the group, if it is.
 * @low, unless NULL, has a lower bound of each group; those looked at become exact.
 */
SLOTS_WIDE static double least_below(const struct hes_slots *s, uint32_t job, double least, double *low, size_t *group)
{
	for (size_t g = 0; g < s->n_groups; g++) {
		double pays;

		if (low && low[g] >= least)
			continue;
		pays = least_in_group(s, job, g);
		if (low)
			low[g] = pays;
		if (pays < least) {
			least = pays;
			*group = g;
		}
	}
	return least;
}

/* A job's column of an earlier end, as it is numbered now; no column where it is not open. */
static size_t column_then(const struct hes_slots *s, const struct hes_slots_end *e, uint32_t job)
{
	size_t group = e->column_of[job] >> e->room_bits, position = e->column_of[job] & ((1u << e->room_bits) - 1);

	return position < s->open[group] ? group * s->room + position : slots_columns(s);
}

static double excess_of(uint16_t stored)
{
	uint64_t bits = (uint64_t)stored << 48;
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* The upper bits of a number that is not negative: rounded towards 0. */
static uint16_t stored_excess(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return (uint16_t)(bits >> 48);
}

/* Lower bounds at the start's prices, from those of its ends. */
static void low_from_ends(const struct hes_slots *s, const struct hes_slots_start *start, uint32_t job, double *low)
{
	const uint16_t *p = start->p->excess + job * s->n_groups, *q = start->q->excess + job * s->n_groups;
	double both = start->x * start->p->least[job] + start->y * start->q->least[job] - ROUNDING * s->greatest;

	for (size_t g = 0; g < s->n_groups; g++)
		low[g] = both + (start->x * excess_of(p[g]) + start->y * excess_of(q[g]));
}

static void low_of_nothing(const struct hes_slots *s, double *low)
{
	for (size_t g = 0; g < s->n_groups; g++)
		low[g] = -INFINITY;
}

size_t slots_first_column(struct hes_slots *s, const struct hes_slots_start *start, uint32_t job)
{
	double *low = s->low ? s->low + job * s->n_groups : NULL, least = INFINITY, slack = ROUNDING * s->greatest;
	size_t ends[2] = { slots_columns(s), slots_columns(s) }, group = 0, best = slots_columns(s);
	double pays[2] = { INFINITY, INFINITY };

	if (start->p) {
		ends[0] = column_then(s, start->p, job);
		ends[1] = column_then(s, start->q, job);
	}
	for (int i = 0; i < 2; i++)
		if (ends[i] < slots_columns(s))
			pays[i] = slots_cost_at(s, job, ends[i]) + s->price[ends[i]];
	if (low && start->p && start->p->excess && start->q->excess)
		low_from_ends(s, start, job, low);
	else if (low)
		low_of_nothing(s, low);
	/* Where both ends have it, it pays least at prices between theirs. */
	if (ends[0] == ends[1] && ends[0] < best)
		return ends[0];
	least = least_below(s, job, fmin(pays[0], pays[1]), low, &group);
	for (int i = 0; i < 2; i++)
		if (pays[i] <= least + slack)
			return ends[i];
	return column_at(s, job, group, least);
}

double slots_bound(struct hes_slots *s)
{
	const double fallen = s->fallen + ROUNDING * s->greatest;
	double bound = 0;

	for (size_t i = 0; i < s->n; i++) {
		uint32_t job = (uint32_t)i;
		double *low = s->low ? s->low + i * s->n_groups : NULL;
		size_t group;

		for (size_t g = 0; low && g < s->n_groups; g++)
			low[g] -= fallen;
		s->pays[i] = least_below(s, job, slots_cost_at(s, job, s->column_of[i]) + s->price[s->column_of[i]],
					 low, &group);
		bound += s->pays[i];
	}
	for (size_t g = 0; g < s->n_groups; g++)
		for (size_t p = 0; p < s->open[g]; p++)
			bound -= s->price[g * s->room + p] * s->groups[g].m;
	return bound;
}

int slots_save_low(const struct hes_slots *s, struct hes_slots_end *e)
{
	if (!s->low)
		return 0;
	e->excess = malloc((s->n * s->n_groups + 1) * sizeof(*e->excess));
	e->least = malloc((s->n + 1) * sizeof(*e->least));
	if (!e->excess || !e->least)
		return -ENOMEM;
	memcpy(e->least, s->pays, s->n * sizeof(*e->least));
	for (size_t i = 0; i < s->n; i++)
		for (size_t g = 0; g < s->n_groups; g++) {
			double excess = s->low[i * s->n_groups + g] - s->pays[i];

			e->excess[i * s->n_groups + g] = stored_excess(excess > 0 ? excess : 0);
		}
	return 0;
}
