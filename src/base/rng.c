/*
 * rng.c - xoshiro256** and its distributions; see rng.h.
 */
#include "base/rng.h"

#include <math.h>

static uint64_t splitmix64(uint64_t *x)
{
	uint64_t z = (*x += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

void hes_rng_seed(struct hes_rng *r, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		r->s[i] = splitmix64(&seed);
}

struct hes_rng hes_rng_fork(const struct hes_rng *r, uint64_t index)
{
	struct hes_rng child;
	uint64_t mix = r->s[0] ^ hes_rng_rotate(r->s[2], 17) ^ (index * 0xd1342543de82ef95u);

	hes_rng_seed(&child, splitmix64(&mix));
	return child;
}

uint64_t hes_rng_below(struct hes_rng *r, uint64_t n)
{
	uint64_t floor = (0 - n) % n; /* values below it would favour small results */
	uint64_t x;

	do
		x = hes_rng_u64(r);
	while (x < floor);
	return x % n;
}

double hes_rng_unit(struct hes_rng *r)
{
	return (double)(hes_rng_u64(r) >> 11) * 0x1p-53;
}

double hes_rng_normal(struct hes_rng *r)
{
	double u, v, q;

	do {
		u = 2 * hes_rng_unit(r) - 1;
		v = 2 * hes_rng_unit(r) - 1;
		q = u * u + v * v;
	} while (q >= 1 || q == 0);
	return u * sqrt(-2 * log(q) / q);
}

double hes_rng_exponential(struct hes_rng *r, double mean)
{
	return -mean *
	       log(1 -
		   hes_rng_unit(r)); /* the difference is exact, and log() quicker than log1p() */
}

void hes_rng_shuffle(struct hes_rng *r, uint32_t *v, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = (size_t)hes_rng_below(r, i);
		uint32_t t = v[i - 1];

		v[i - 1] = v[j];
		v[j] = t;
	}
}
