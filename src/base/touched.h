/*
 * touched.h - zeroed memory whose pages are there.
 *
 * Large memory from calloc() has none: one that is read before it is written to, as a hash table's are, is
 * mapped twice, and the second time interrupts all threads.
 */
#ifndef HES_BASE_TOUCHED_H
#define HES_BASE_TOUCHED_H

#include <stdlib.h>
#include <string.h>

/** As calloc(); free(). */
static inline void *hes_touched(size_t n, size_t size)
{
	void *p = reallocarray(NULL, n, size);

	if (p)
		memset(p, 0, n * size);
	return p;
}

#endif
