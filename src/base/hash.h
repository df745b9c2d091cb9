/*
 * hash.h - FNV-1a hashes of 64 bits, the same on every machine.
 *
 * Start with HES_HASH_START and pass each result on to the next call.
 */
#ifndef HES_BASE_HASH_H
#define HES_BASE_HASH_H

#include <stdint.h>
#include <string.h>

#define HES_HASH_START 0xcbf29ce484222325u

static inline uint64_t hes_hash_bytes(uint64_t h, const void *bytes, size_t n)
{
	for (const unsigned char *p = bytes; n > 0; n--)
		h = (h ^ *p++) * 0x100000001b3u;
	return h;
}

/** The NUL is part of the hash: "a" and "bc" differ from "ab" and "c". */
static inline uint64_t hes_hash_text(uint64_t h, const char *text)
{
	return hes_hash_bytes(h, text, strlen(text) + 1);
}

#endif
