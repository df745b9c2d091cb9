/*
 * fair_decision.c - how long one decision of a run queue takes (pick and charge), alone and with a
 * tenant that comes or goes before each, by number of tenants; see bench/fair.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/rng.h"
#include "heshare/fair_queue.h"

#define RUNS      51
#define DECISIONS 20000 /* a run */
#define CHANGES   5000  /* a run; slices are computed again after each */

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Turns of random length, drawn before the clock runs. */
static double decisions_ns(struct hes_fair_queue *q, const double *parts)
{
	double start = now_ns();

	for (int k = 0; k < DECISIONS; k++) {
		struct hes_fair_turn t;

		if (!hes_fair_queue_pick(q, &t) ||
		    hes_fair_queue_charge(q, t.tenant, (uint64_t)((double)t.slice_ns * parts[k]),
					  1e-3, NULL))
			exit(1);
	}
	return (now_ns() - start) / DECISIONS;
}

/* Decisions, each after a tenant had no more work, or had work again. */
static double after_change_ns(struct hes_fair_queue *q, size_t n, const double *parts)
{
	double start = now_ns();

	for (size_t k = 0; k < CHANGES; k++) {
		uint32_t tenant = (uint32_t)(k / 2 * 7919 % n);
		struct hes_fair_turn t;

		if (k % 2 ? hes_fair_queue_submit(q, tenant, 1, NULL)
			  : hes_fair_queue_done(q, tenant, 1, NULL))
			exit(1);
		if (!hes_fair_queue_pick(q, &t) ||
		    hes_fair_queue_charge(q, t.tenant, (uint64_t)((double)t.slice_ns * parts[k]),
					  1e-3, NULL))
			exit(1);
	}
	return (now_ns() - start) / CHANGES;
}

static struct hes_fair_queue *queue_of(size_t n, struct hes_rng *rng)
{
	const struct hes_fair_queue_config c = { hes_fair_policy_find("etf", NULL), 0.7, 1000000,
						 1000 };
	struct hes_fair_queue *q;
	uint32_t tenant;

	if (hes_fair_queue_create(&c, &q, NULL))
		exit(1);
	for (size_t i = 0; i < n; i++) {
		const struct hes_fair_tenant t = { 50 + 250 * hes_rng_unit(rng),
						   (double)(1 + hes_rng_below(rng, 4)),
						   HES_FAIR_BACKLOGGED };

		if (hes_fair_queue_add(q, 0, &t, &tenant, NULL) ||
		    hes_fair_queue_submit(q, tenant, 1, NULL))
			exit(1);
	}
	return q;
}

int main(void)
{
	static double parts[DECISIONS], took[RUNS], changed[RUNS];

	for (size_t n = 10; n <= 1000; n *= 10) {
		struct hes_rng rng;
		struct hes_fair_queue *q;

		hes_rng_seed(&rng, 1);
		q = queue_of(n, &rng);
		for (int k = 0; k < DECISIONS; k++)
			parts[k] = 0.5 + hes_rng_unit(&rng);
		for (int k = -5; k < RUNS; k++) /* the first ones warm up, and spread the tenants */
			took[k < 0 ? 0 : k] = decisions_ns(q, parts);
		for (int k = 0; k < RUNS; k++)
			changed[k] = after_change_ns(q, n, parts);
		qsort(took, RUNS, sizeof(took[0]), by_value);
		qsort(changed, RUNS, sizeof(changed[0]), by_value);
		printf("{\"tenants\": %zu, \"decision_median_ns\": %.1f, \"decision_min_ns\": "
		       "%.1f, \"after_change_median_ns\": %.1f}\n",
		       n, took[RUNS / 2], took[0], changed[RUNS / 2]);
		hes_fair_queue_destroy(q);
	}
	return 0;
}
