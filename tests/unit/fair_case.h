/*
 * fair_case.h - random tenants, and users that have them, to divide an interval between: what
 * tests of slices share.
 */
#ifndef TEST_FAIR_CASE_H
#define TEST_FAIR_CASE_H

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "heshare/fair.h"
#include "unit_test.h"

#define MOST 12 /* tenants of a random case */

enum { TIME, ENERGY, ETF, MIRROR, POLICIES };

struct fair_case {
	struct hes_fair_request r;
	struct hes_fair_tenant t[MOST];
	struct hes_fair_user users[MOST];
	size_t n_users;
	uint64_t slices[MOST];
};

static inline struct hes_fair_tenant backlogged(double power_w)
{
	return (struct hes_fair_tenant){ power_w, 1, HES_FAIR_BACKLOGGED };
}

/* Few values now and then, so that there are ties; else a range. */
static inline double draw_number(struct hes_rng *rng, bool coarse, double range)
{
	return coarse ? (double)(1 + hes_rng_below(rng, 4))
		      : exp(range * (hes_rng_unit(rng) - 0.5));
}

/* Users too, in the order of the tenants. @param widest  range of numbers, in a quarter of cases */
static inline void draw_users(struct hes_rng *rng, size_t most_n, uint64_t most_t, bool demands,
			      double widest, struct fair_case *c)
{
	const bool coarse = hes_rng_below(rng, 2), weights = hes_rng_below(rng, 2);
	const double range = hes_rng_below(rng, 4) ? widest / 4 : widest;

	*c = (struct fair_case){ .r = { .policy = &hes_fair_policies[hes_rng_below(rng, POLICIES)],
					.n = 1 + hes_rng_below(rng, most_n),
					.interval = 1 + hes_rng_below(rng, most_t),
					.tenants = c->t,
					.phi = coarse ? (double)hes_rng_below(rng, 11) / 10
						      : hes_rng_unit(rng) } };
	for (size_t i = 0; i < c->r.n; i++) {
		c->t[i] = backlogged(draw_number(rng, coarse, range));
		if (weights)
			c->t[i].weight = draw_number(rng, coarse, range);
		if (demands && hes_rng_below(rng, 3))
			c->t[i].demand = hes_rng_below(rng, 2 * c->r.interval / c->r.n + 2);
	}
	for (size_t left = c->r.n; left; left -= c->users[c->n_users++].n)
		c->users[c->n_users] =
			(struct hes_fair_user){ weights ? draw_number(rng, coarse, range) : 1,
						1 + hes_rng_below(rng, left) };
}

/* The longest interval, and now and then the greatest and the least numbers. */
static inline void draw_extremes(struct hes_rng *rng, int k, struct fair_case *c)
{
	c->r.interval = HES_FAIR_MAX_INTERVAL - hes_rng_below(rng, 2);
	for (size_t i = 0; i < c->r.n; i++) {
		if (k % 7 == 0)
			c->t[i].power_w = i % 2 ? HES_FAIR_MAX_NUMBER : HES_FAIR_MIN_NUMBER;
		if (k % 14 == 0)
			c->t[i].weight = i % 2 ? HES_FAIR_MIN_NUMBER : HES_FAIR_MAX_NUMBER;
	}
}

static inline uint64_t slices_sum(const struct fair_case *c)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < c->r.n; i++)
		sum += c->slices[i];
	return sum;
}

#endif
