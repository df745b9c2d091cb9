/*
 * campaign_sweep.h - the setting of a policy that has one for each GPU type, such as the clocks of
 * `static` and the power limits of `cap`, with the least energy x completion time.
 */
#ifndef HES_APP_CAMPAIGN_SWEEP_H
#define HES_APP_CAMPAIGN_SWEEP_H

#include "app/campaign_set.h"

#define SWEEP_POLICY "static-equal:edp-sjf" /* where none is given */

#define SWEEP_MAX_POINTS (HES_MAX_CLOCKS + 4)

/** One setting of a type: a clock, or a power limit. */
struct sweep_point {
	uint32_t value;                   /* MHz, or W */
	double fleet_energy_j, avg_jct_s; /* means over the sets */
};

/** The points of one type. */
struct sweep_curve {
	const char *name; /* of the type */
	struct sweep_point v[SWEEP_MAX_POINTS];
	size_t n, best;
};

struct campaign_sweep {
	struct campaign_sets *sets; /* borrowed */
	const struct hes_policy *policy;
	const char *unit; /* of the points' values */
	char label[2 * HES_NAME_MAX];
	struct sweep_curve curves[APP_KNOWN_TYPES];
	size_t n;
};

/** Whether the sets, whose policies are chosen, have one policy with such a setting. @return 0;
 * -EINVAL */
int campaign_sweep_check(const struct campaign_sets *s, struct hes_err *err);
/** Learn, and replay the sets with each setting of their policy. */
int campaign_sweep_run(struct campaign_sets *s, const struct campaign_request *q,
		       struct campaign_sweep *out, struct hes_err *err);

/** Fleet energy x completion time. */
double sweep_product(const struct sweep_point *p);
/** The option that sets what was found: "--power-limits T4=60". */
void sweep_option(const struct campaign_sweep *w, char *out, size_t size);

#endif
