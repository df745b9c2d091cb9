/*
 * latency.c - durations in a histogram; see latency.h.
 *
 * A bucket is the position of the first bit that is set and the LATENCY_BITS bits after it.
 * Durations below 2^(LATENCY_BITS + 1) have a bucket each.
 */
#include "latency.h"

#include <math.h>

#include "base/clamp.h"

#define SUB (1u << LATENCY_BITS)

static uint32_t bucket_of(uint64_t ns)
{
	unsigned shift;

	if (ns < SUB)
		return (uint32_t)ns;
	shift = 63u - LATENCY_BITS - (unsigned)__builtin_clzll(ns);
	return (uint32_t)((shift << LATENCY_BITS) + (ns >> shift));
}

/* The middle of a bucket. */
static double bucket_middle(uint32_t bucket)
{
	unsigned shift = bucket < SUB ? 0 : (bucket >> LATENCY_BITS) - 1;
	double low = ldexp((double)(bucket - (shift << LATENCY_BITS)), (int)shift);

	return low + 0.5 * (ldexp(1, (int)shift) - 1);
}

void latency_add(struct latency *l, uint64_t ns)
{
	l->n++;
	l->sum += (double)ns;
	l->greatest = ns > l->greatest ? ns : l->greatest;
	l->buckets[bucket_of(ns)]++;
}

double latency_mean(const struct latency *l)
{
	return l->n ? l->sum / (double)l->n : NAN;
}

double latency_percentile(const struct latency *l, double part)
{
	double rank = greater(ceil(part * (double)l->n), 1);
	uint64_t seen = 0;

	if (!l->n)
		return NAN;
	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
		seen += l->buckets[i];
		if ((double)seen >= rank)
			return lesser(bucket_middle(i), (double)l->greatest);
	}
	return (double)l->greatest;
}
