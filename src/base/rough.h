/*
 * rough.h - exponential and logarithm to six digits, for what is an estimate
 * anyway: a few multiplications, the same everywhere.
 */
#ifndef HES_BASE_ROUGH_H
#define HES_BASE_ROUGH_H

#include <stdint.h>
#include <string.h>

/** e^x to a part of 2e-7, for |x| up to 700. */
static inline double hes_rough_exp(double x)
{
	const double twos = x * 1.4426950408889634; /* log2(e) */
	const int64_t whole = (int64_t)(twos + (twos < 0 ? -0.5 : 0.5));
	const double r = (twos - (double)whole) * 0.6931471805599453; /* at most ln(2) / 2 */
	const uint64_t bits = (uint64_t)(whole + 1023) << 52;
	double scale;

	memcpy(&scale, &bits, sizeof(scale));
	/* Taylor's series to the sixth power. */
	return scale * (1 + r * (1 + r * (1 / 2.0 + r * (1 / 6.0 + r * (1 / 24.0 + r * (1 / 120.0 + r / 720.0))))));
}

/** Natural logarithm to 3e-8, of normal numbers above 0. */
static inline double hes_rough_log(double x)
{
	uint64_t bits;
	int64_t twos;
	double s, s2;

	/* x = m 2^twos, m from 1/sqrt(2) to sqrt(2). */
	memcpy(&bits, &x, sizeof(bits));
	bits += UINT64_C(0x00095f619980c433);
	twos = (int64_t)(bits >> 52) - 1023;
	bits = (bits & UINT64_C(0x000fffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd);
	memcpy(&x, &bits, sizeof(x));
	/* log(m) = 2 artanh((m - 1) / (m + 1)), its series to the seventh power. */
	s = (x - 1) / (x + 1);
	s2 = s * s;
	return (double)twos * 0.6931471805599453 + 2 * s * (1 + s2 * (1 / 3.0 + s2 * (1 / 5.0 + s2 / 7.0)));
}

#endif
