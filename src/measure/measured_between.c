/*
 * measured_between.c - what was measured between two results of one window; see heshare/measure.h.
 */
#include "heshare/measure.h"

#include <math.h>

#define WHOLE 0.9 /* part of the time in which energy must be known */

/* The mean of what came after @from. Means times their seconds are sums. */
static struct hes_mean mean_after(struct hes_mean from, struct hes_mean to)
{
	const double seconds = to.seconds - from.seconds;

	return seconds > 0
		       ? (struct hes_mean){ (to.value * to.seconds - from.value * from.seconds) /
						    seconds,
					    seconds }
		       : (struct hes_mean){ 0 };
}

struct hes_measured hes_measured_between(const struct hes_measured *from,
					 const struct hes_measured *to)
{
	const struct hes_mean clock =
		mean_after((struct hes_mean){ from->clock_mhz, from->clock_s },
			   (struct hes_mean){ to->clock_mhz, to->clock_s });
	struct hes_measured o = {
		.seconds = to->seconds - from->seconds,
		.energy_j = to->energy_j - from->energy_j,
		.known_s = to->known_s - from->known_s,
		.clock_s = clock.seconds,
		.clock_mhz = clock.value,
		.reasons_s = to->reasons_s - from->reasons_s,
		.capped_s = to->capped_s - from->capped_s,
		.left_out = to->left_out,
		.lost = to->lost,
		.activity.from = to->activity.from,
	};

	if (o.seconds > 0 && o.known_s >= WHOLE * o.seconds) {
		o.from = to->from;
		o.mean_w = o.energy_j / o.known_s;
	}
	for (size_t i = 0; i < HES_ACTS; i++)
		o.activity.of[i] = mean_after(from->activity.of[i], to->activity.of[i]);
	return o;
}
