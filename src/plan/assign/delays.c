/*
 * delays.c - the GPU where a job delays the others least; see delays.h.
 */
#include "plan/assign/delays.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define MOST_KNOTS 64

/* About one job of a queue lies between two knots. */
static size_t knots_for(const struct hes_assign *a)
{
	size_t n = 2 + (a->k ? a->n / a->k : 0);

	return n < MOST_KNOTS ? n : MOST_KNOTS;
}

size_t hes_delays_rows(const struct hes_assign *a)
{
	return a->k * (knots_for(a) + 1);
}

/* Run times of jobs, evenly spread over their order. */
static void place_knots(struct hes_delays *d, size_t type)
{
	const struct hes_assign *a = d->a;
	const struct hes_cost *costs = &a->exact[type * a->n];
	const uint32_t *order = &a->order[type * a->n];
	double *knots_us = &d->knots_us[type * d->n_knots];
	size_t n = a->n; /* jobs that can run there */

	while (n && !isfinite(costs[order[n - 1]].time_us))
		n--;
	knots_us[0] = 0;
	for (size_t m = 1; m < d->n_knots; m++)
		knots_us[m] = n ? costs[order[m * (n - 1) / (d->n_knots - 1)]].time_us : 0;
}

static float round_down(double v)
{
	float f = (float)v;

	return (double)f > v ? nextafterf(f, 0) : f;
}

static void find_spots(struct hes_delays *d, size_t type)
{
	const struct hes_assign *a = d->a;
	const double *knots_us = &d->knots_us[type * d->n_knots];
	uint32_t knot = 0;

	for (size_t i = 0; i < a->n; i++) {
		uint32_t job = a->order[type * a->n + i];
		double time_us = a->exact[type * a->n + job].time_us, span;

		while (knot + 2 < d->n_knots && knots_us[knot + 1] <= time_us)
			knot++;
		span = knots_us[knot + 1] - knots_us[knot];
		d->spots[job * a->n_types + type] = (struct hes_delay_spot){
			time_us,
			isfinite(time_us) && span > 0
				? round_down((time_us - knots_us[knot]) / span)
				: 0,
			knot,
		};
	}
}

int hes_delays_init(struct hes_delays *d, const struct hes_assign *a)
{
	*d = (struct hes_delays){ .a = a, .n_knots = knots_for(a) };
	d->knots_us = calloc(a->n_types * d->n_knots + 1, sizeof(*d->knots_us));
	d->spots = calloc(a->n * a->n_types + 1, sizeof(*d->spots));
	if (!d->knots_us || !d->spots) {
		hes_delays_finish(d);
		return -ENOMEM;
	}
	for (size_t t = 0; t < a->n_types; t++) {
		place_knots(d, t);
		find_spots(d, t);
	}
	return 0;
}

void hes_delays_finish(struct hes_delays *d)
{
	free(d->knots_us);
	free(d->spots);
	*d = (struct hes_delays){ 0 };
}

static double *row_of(const struct hes_delays *d, double *rows, size_t gpu)
{
	return rows + gpu * d->n_knots;
}

static const double *knots_of(const struct hes_delays *d, size_t gpu)
{
	return &d->knots_us[d->a->gpus[gpu].type * d->n_knots];
}

void hes_delays_fill(const struct hes_delays *d, const struct hes_queues *x, double *rows)
{
	const uint32_t *next = hes_queues_next(d->a, x);

	for (size_t g = 0; g < d->a->k; g++) {
		const struct hes_cost *costs = &d->a->exact[d->a->gpus[g].type * d->a->n];
		const double *knots_us = knots_of(d, g);
		double *row = row_of(d, rows, g), shorter_us = 0;
		uint32_t longer = x->v[g].n, i = x->v[g].head;

		for (size_t m = 0; m < d->n_knots; m++) {
			for (; i != HES_QUEUES_END && costs[i].time_us < knots_us[m];
			     i = next[i], longer--)
				shorter_us += costs[i].time_us;
			row[m] = shorter_us + longer * knots_us[m];
		}
	}
}

static double lesser(double a, double b)
{
	return a < b ? a : b;
}

void hes_delays_moved(const struct hes_delays *d, double *rows, uint32_t job, uint32_t from,
		      uint32_t gpu)
{
	const struct hes_delay_spot *spots = &d->spots[job * d->a->n_types];
	const double *left = knots_of(d, from), *reached = knots_of(d, gpu);
	double left_us = spots[d->a->gpus[from].type].time_us,
	       reached_us = spots[d->a->gpus[gpu].type].time_us;
	double *source = row_of(d, rows, from), *target = row_of(d, rows, gpu);

	for (size_t m = 0; m < d->n_knots; m++)
		source[m] -= lesser(left[m], left_us);
	for (size_t m = 0; m < d->n_knots; m++)
		target[m] += lesser(reached[m], reached_us);
}

static double bound_us(const struct hes_delays *d, double *rows, const struct hes_delay_spot *spots,
		       size_t gpu)
{
	const struct hes_delay_spot *spot = &spots[d->a->gpus[gpu].type];
	const double *known = row_of(d, rows, gpu) + spot->knot;

	return d->a->exact_wait_us[gpu] + spot->time_us + known[0] +
	       (known[1] - known[0]) * (double)spot->part;
}

uint32_t hes_delays_least(const struct hes_delays *d, const struct hes_queues *x, double *rows,
			  uint32_t job)
{
	const struct hes_assign *a = d->a;
	const struct hes_delay_spot *spots = &d->spots[job * a->n_types];
	const uint32_t at = hes_queues_gpus(a, x)[job];
	double *bounds_us = rows + a->k * d->n_knots, least_us;
	uint32_t best = at;

	for (uint32_t g = 0; g < a->k; g++)
		bounds_us[g] = bound_us(d, rows, spots, g);
	bounds_us[at] -= spots[a->gpus[at].type].time_us; /* the job itself is in that queue */
	for (uint32_t g = 0; g < a->k; g++)
		best = bounds_us[g] < bounds_us[best] ? g : best;
	least_us = hes_queues_delay_us(a, x, job, best);
	bounds_us[best] = INFINITY;
	for (uint32_t g = 0; g < a->k; g++) {
		double delay_us;

		if (bounds_us[g] >= least_us)
			continue;
		delay_us = hes_queues_delay_us(a, x, job, g);
		if (delay_us < least_us) {
			least_us = delay_us;
			best = g;
		}
	}
	return best;
}
