/*
 * campaign_draws.h - how far the results of a campaign vary over draws of the GPU model's uncertain
 * parameters. All functions need a campaign with draws.
 */
#ifndef HES_APP_CAMPAIGN_DRAWS_H
#define HES_APP_CAMPAIGN_DRAWS_H

#include "app/campaign.h"

/** Percent, rounded: 5th percentile, median, 95th percentile. */
struct draws_range {
	long low, median, high;
};

double draws_time(const struct hes_totals *t);
double draws_energy(const struct hes_totals *t);

/** Change of a figure of contender @who from @reference over the draws.
 * @param v  room for a number a draw */
struct draws_range draws_change(const struct campaign *c, size_t who, size_t reference,
				double (*of)(const struct hes_totals *), double *v);
/** In how many draws a contender has the least product of completion time and fleet energy. */
size_t draws_best(const struct campaign *c, size_t who);

#endif
