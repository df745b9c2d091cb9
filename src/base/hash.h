/*
 * hash.h - FNV-1a of texts, 64 bits: the same on every machine.
 */
#ifndef HES_BASE_HASH_H
#define HES_BASE_HASH_H

#include <stdint.h>

#define HES_HASH_START 0xcbf29ce484222325u

/** The NUL counts: "a" and "bc" is not "ab" and "c". */
static inline uint64_t hes_hash_text(uint64_t h, const char *text)
{
	do
		h = (h ^ (unsigned char)*text) * 0x100000001b3u;
	while (*text++);
	return h;
}

#endif
