/*
 * rng.h - random numbers from a seed, equal on all machines and compilers.
 *
 * xoshiro256** (Blackman and Vigna, 2018), seeded through splitmix64. A generator belongs to one
 * thread. hes_rng_fork() gives independent streams, so results do not depend on the number of
 * threads.
 */
#ifndef HES_BASE_RNG_H
#define HES_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

struct hes_rng {
	uint64_t s[4];
};

void hes_rng_seed(struct hes_rng *r, uint64_t seed);
/** A stream of its own for item @index of whatever @r is used for; @r is not advanced. */
struct hes_rng hes_rng_fork(const struct hes_rng *r, uint64_t index);

static inline uint64_t hes_rng_rotate(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

static inline uint64_t hes_rng_u64(struct hes_rng *r)
{
	uint64_t *s = r->s;
	uint64_t out = hes_rng_rotate(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = hes_rng_rotate(s[3], 45);
	return out;
}

/** Uniform in [0, n) to n parts in 2^32, in a multiplication; n > 0. */
static inline uint32_t hes_rng_small(struct hes_rng *r, uint32_t n)
{
	return (uint32_t)((hes_rng_u64(r) >> 32) * n >> 32);
}

/** Uniform in [0, n), without bias; n > 0. */
uint64_t hes_rng_below(struct hes_rng *r, uint64_t n);
/** Uniform in [0, 1), 53 bits. */
double hes_rng_unit(struct hes_rng *r);
/** Standard normal (Marsaglia's polar method). */
double hes_rng_normal(struct hes_rng *r);
/** Exponential with the given mean. */
double hes_rng_exponential(struct hes_rng *r, double mean);
/** Fisher-Yates shuffle of n indices. */
void hes_rng_shuffle(struct hes_rng *r, uint32_t *v, size_t n);

#endif
