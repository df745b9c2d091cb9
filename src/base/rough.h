/*
 * rough.h - exponentials and logarithms of four numbers at a time, to about five digits. For estimates; equal on
 * all machines.
 */
#ifndef HES_BASE_ROUGH_H
#define HES_BASE_ROUGH_H

#include <stdint.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

typedef float hes_lanes __attribute__((vector_size(16)));
typedef int32_t hes_lane_bits __attribute__((vector_size(16)));

static inline hes_lanes hes_lanes_of(float x)
{
	return (hes_lanes){ x, x, x, x };
}

/** The greater of each two; the second where they are equal or one is not a number. No compiler makes one instruction of it by itself. */
static inline hes_lanes hes_lanes_max(hes_lanes a, hes_lanes b)
{
#ifdef __SSE__
	return _mm_max_ps(a, b);
#else
	const hes_lane_bits is_a = a > b;

	return (hes_lanes)((is_a & (hes_lane_bits)a) | (~is_a & (hes_lane_bits)b));
#endif
}

/** The lesser, likewise. */
static inline hes_lanes hes_lanes_min(hes_lanes a, hes_lanes b)
{
#ifdef __SSE__
	return _mm_min_ps(a, b);
#else
	return -hes_lanes_max(-a, -b);
#endif
}

static inline float hes_lanes_sum(hes_lanes a)
{
	return (a[0] + a[1]) + (a[2] + a[3]);
}

/** e^x to a part of 5e-6, for |x| up to 10. */
static inline hes_lanes hes_rough_exp4(hes_lanes x)
{
	const hes_lanes magic = hes_lanes_of(12582912.0f); /* 1.5 * 2^23: what is added to it is rounded to a whole number */
	const hes_lanes whole = x * 1.44269504f + magic, r = x - (whole - magic) * 0.69314718f;
	const hes_lanes scale = (hes_lanes)(((hes_lane_bits)whole << 23) + 0x3f800000);

	return scale * (1 + r * (1 + r * (1 / 2.0f + r * (1 / 6.0f + r * (1 / 24.0f + r / 120.0f)))));
}

/** Natural logarithm to 2e-7 and a part of 2e-7, of normal numbers above 0. */
static inline hes_lanes hes_rough_log4(hes_lanes x)
{
	const hes_lane_bits bits = (hes_lane_bits)x + 0x004afb0d, twos = (bits >> 23) - 127;
	const hes_lanes m = (hes_lanes)((bits & 0x007fffff) + 0x3f3504f3), s = (m - 1) / (m + 1), s2 = s * s;

	return __builtin_convertvector(twos, hes_lanes) * 0.69314718f + 2 * s * (1 + s2 * (1 / 3.0f + s2 * (1 / 5.0f + s2 / 7.0f)));
}

#endif
