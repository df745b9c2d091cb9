/*
 * prefault.h - zeroed memory whose pages are mapped already.
 *
 * calloc() maps a large block page by page at the first use, which interrupts all threads. A hash
 * table reads each page before it writes it, so its pages would even be mapped twice.
 */
#ifndef HES_BASE_PREFAULT_H
#define HES_BASE_PREFAULT_H

#include <stdlib.h>
#include <string.h>

/** As calloc(); free(). */
static inline void *hes_calloc_prefaulted(size_t n, size_t size)
{
	void *p = reallocarray(NULL, n, size);

	if (p)
		memset(p, 0, n * size);
	return p;
}

#endif
