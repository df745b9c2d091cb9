/*
 * walk_key.h - floats as integers of the same order.
 */
#ifndef HES_TREES_WALK_KEY_H
#define HES_TREES_WALK_KEY_H

#include <stdint.h>
#include <string.h>

static inline uint32_t walk_float_bits(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

/**
 * x < y as floats if and only if key(x) < key(y), infinities included; -0 is 0. Not for NaN.
 * Greater than 0 and less than UINT32_MAX.
 */
static inline uint32_t walk_key(float x)
{
	uint32_t bits = walk_float_bits(x + 0.0f), sign = bits >> 31;

	return bits ^ ((0 - sign) | 0x80000000u);
}

#endif
