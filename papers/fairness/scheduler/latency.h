/*
 * latency.h - how long things took: their mean, and percentiles from a histogram with buckets of
 * equal ratio.
 */
#ifndef PAPERS_LATENCY_H
#define PAPERS_LATENCY_H

#include <stdint.h>

#define LATENCY_BITS    4 /* of a duration that a bucket tells apart, besides the first one */
#define LATENCY_BUCKETS ((64 - LATENCY_BITS + 1) << LATENCY_BITS)

struct latency {
	uint64_t n, greatest;
	double sum;
	uint32_t buckets[LATENCY_BUCKETS];
};

void latency_add(struct latency *l, uint64_t ns);

/** @return NaN without durations */
double latency_mean(const struct latency *l);

/** The least duration that at least @part (0..1) of all do not exceed, within 1/32. @return NaN
 * without durations */
double latency_percentile(const struct latency *l, double part);

#endif
