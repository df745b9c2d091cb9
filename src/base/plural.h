/*
 * plural.h - the plural s of nouns after numbers.
 */
#ifndef HES_BASE_PLURAL_H
#define HES_BASE_PLURAL_H

#include <stdint.h>

/** The ending of a noun that stands for @n things: "%zu job%s". */
static inline const char *hes_s(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#endif
