/*
 * priced.c - see priced.h.
 */
#include "plan/batch/priced.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "plan/assign/lap.h"

/* Prices, in units of the energy per completion time of stage 1's balanced assignment. */
static const double prices[HES_PRICES] = { 32,     16,     8,      4,       2,      1,
					   1. / 2, 1. / 4, 1. / 8, 1. / 16, 1. / 32 };

static int solve(const struct hes_assign *a, double price, struct hes_assignment *out)
{
	const struct hes_weights w = { 1, price };
	struct hes_lap *lap = hes_lap_new(a);
	double bound;
	const int rc = lap ? hes_lap_solve(lap, &w, out->gpu_of, &bound) : -ENOMEM;

	if (!rc)
		hes_assign_evaluate(a, out);
	hes_lap_free(lap);
	return rc;
}

/* Energy per completion time, mJ/us, where neither can gain a per cent for less than a per cent of
 * the other. */
static int find_unit(const struct hes_assign *a, struct hes_assignment *x, double *unit)
{
	int rc = 0;

	*unit = 0;
	for (size_t i = 0; i < a->n; i++)
		for (size_t t = 0; t < a->n_types; t++)
			if (isfinite(a->cost[t * a->n + i].time_us))
				*unit = fmax(*unit, a->cost[t * a->n + i].energy_mj /
							    a->cost[t * a->n + i].time_us);
	for (int i = 0; i < 3 && !rc; i++) {
		rc = solve(a, *unit, x);
		*unit = x->at.energy_mj / x->at.jct_us;
	}
	return rc;
}

/* A job alone at the clock with the least energy plus price of what it delays: on average half of a
 * queue. */
static struct hes_cost at_best_clock(const struct hes_problem *p, size_t job, uint32_t type,
				     double price_of_time)
{
	const struct hes_group alone = { 1, { { (uint32_t)job, 100 } } };
	const struct hes_gpu_type *t = p->types[type];
	struct hes_cost best = p->cost[type * p->n + job];

	for (size_t i = 0; i < t->n_clocks; i++) {
		struct hes_group_cost c;

		hes_group_run(p, type, t->clocks_mhz[i], &alone, &c);
		if (!c.far && c.energy_mj + price_of_time * c.last_us <
				      best.energy_mj + price_of_time * best.time_us)
			best = (struct hes_cost){ c.last_us, c.energy_mj };
	}
	return best;
}

static int assign_at(const struct hes_problem *p, double price, struct hes_cost *cost,
		     struct hes_assignment *out)
{
	const double delayed = ((double)p->n / (double)p->k + 1) / 2;
	struct hes_assign a;
	int rc;

	for (uint32_t t = 0; t < p->n_types; t++)
		for (size_t i = 0; i < p->n; i++) {
			cost[t * p->n + i] = p->cost[t * p->n + i];
			if (hes_problem_runs(p, i, t))
				cost[t * p->n + i] = at_best_clock(p, i, t, price * delayed);
		}
	rc = hes_assign_init(&a, p->n, p->k, p->n_types, cost, p->gpus);
	if (rc)
		return rc;
	rc = solve(&a, price, out);
	hes_assign_finish(&a);
	return rc;
}

int hes_priced_assign(const struct hes_problem *p, struct hes_assign_front *out,
		      struct hes_sharing_aim aims[HES_PRICES])
{
	struct hes_cost *cost = calloc(p->n_types * p->n + 1, sizeof(*cost));
	struct hes_assign_front front = { 0 };
	struct hes_assign a;
	double unit = 0;
	int rc = cost ? hes_assign_init(&a, p->n, p->k, p->n_types, p->cost, p->gpus) : -ENOMEM;

	if (!rc) {
		front.v = hes_assignments_new(&a, HES_PRICES);
		rc = front.v ? find_unit(&a, &front.v[0], &unit) : -ENOMEM;
		hes_assign_finish(&a);
	}
	for (; !rc && front.n < HES_PRICES; front.n++) {
		aims[front.n] = (struct hes_sharing_aim){ .overlap = true,
							  .jct_price = prices[front.n] * unit };
		rc = assign_at(p, aims[front.n].jct_price, cost, &front.v[front.n]);
	}
	free(cost);
	if (rc)
		free(front.v);
	else
		*out = front;
	return rc;
}
