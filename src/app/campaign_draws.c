/*
 * campaign_draws.c - how far the results of a campaign vary with the model; see campaign_draws.h.
 */
#include "app/campaign_draws.h"

#include <math.h>
#include <stdlib.h>

#define LOW  0.05
#define HIGH 0.95

double draws_time(const struct hes_totals *t)
{
	return t->avg_jct_us;
}
double draws_energy(const struct hes_totals *t)
{
	return (double)t->fleet_energy_mj;
}

static int rising(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double quantile(const double *sorted, size_t n, double part)
{
	double at = part * (double)(n - 1);
	size_t i = (size_t)at;

	return i + 1 < n ? sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[i];
}

/* Change of a figure of contender @who from @reference, in percent, over the draws. @param v  room
 * for each draw */
struct draws_range draws_change(const struct campaign *c, size_t who, size_t reference,
				double (*of)(const struct hes_totals *), double *v)
{
	for (size_t i = 0; i < c->n_draws; i++)
		v[i] = 100 * (of(&c->draws[i * c->n_who + who]) /
				      of(&c->draws[i * c->n_who + reference]) -
			      1);
	qsort(v, c->n_draws, sizeof(*v), rising);
	return (struct draws_range){ lround(quantile(v, c->n_draws, LOW)),
				     lround(quantile(v, c->n_draws, 0.5)),
				     lround(quantile(v, c->n_draws, HIGH)) };
}

/* In how many draws a contender has the least product of completion time and fleet energy. */
size_t draws_best(const struct campaign *c, size_t who)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_draws; i++) {
		const struct hes_totals *t = &c->draws[i * c->n_who];
		size_t best = 0;

		for (size_t w = 1; w < c->n_who; w++)
			if (draws_time(&t[w]) * draws_energy(&t[w]) <
			    draws_time(&t[best]) * draws_energy(&t[best]))
				best = w;
		n += best == who;
	}
	return n;
}
