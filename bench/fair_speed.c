/*
 * fair_speed.c - how long the slices of an interval of 10^6 quanta take, by number of tenants; see
 * bench/fair.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/rng.h"
#include "slices_plain.h"

#define INTERVAL   1000000
#define RUNS       21
#define MOST_PLAIN 1000 /* tenants; beyond them Algorithm 1 takes seconds */

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(const struct hes_fair_request *r, uint64_t *slices)
{
	double took[RUNS], plain;

	for (int k = -1; k < RUNS; k++) { /* the first one warms up */
		double start = now_ms();

		if (hes_fair_slices(r, slices, NULL) || !slices[0])
			exit(1);
		took[k < 0 ? 0 : k] = now_ms() - start;
	}
	qsort(took, RUNS, sizeof(took[0]), by_value);
	printf("{\"interval\": %d, \"tenants\": %zu, \"median_ms\": %.4f, \"min_ms\": %.4f",
	       INTERVAL, r->n, took[RUNS / 2], took[0]);
	if (r->n <= MOST_PLAIN) {
		plain = now_ms();
		if (fair_slices_plain(r, slices, NULL, NULL, NULL) || !slices[0])
			exit(1);
		printf(", \"algorithm1_ms\": %.1f", now_ms() - plain);
	}
	printf("}\n");
}

int main(void)
{
	for (size_t n = 10; n <= 10000; n *= 10) {
		struct hes_fair_tenant *t = calloc(n, sizeof(*t));
		uint64_t *slices = calloc(n, sizeof(*slices));
		const struct hes_fair_request r = { hes_fair_policy_find("etf", NULL), INTERVAL,
						    0.7, t, n };
		struct hes_rng rng;

		if (!t || !slices)
			return 1;
		hes_rng_seed(&rng, 1);
		for (size_t i = 0; i < n; i++)
			t[i] = (struct hes_fair_tenant){ 50 + 250 * hes_rng_unit(&rng),
							 (double)(1 + hes_rng_below(&rng, 4)),
							 HES_FAIR_BACKLOGGED };
		measure(&r, slices);
		free(slices);
		free(t);
	}
	return 0;
}
