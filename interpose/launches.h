/*
 * launches.h - count the launches of kernels and graphs for the one who started the job: in a file
 * that all its processes map (HESHARE_LAUNCHES).
 *
 * The file begins with the count, 64 bits of this machine.
 */
#ifndef HES_INTERPOSE_LAUNCHES_H
#define HES_INTERPOSE_LAUNCHES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern _Atomic uint64_t *launches_count; /* NULL: launches are not counted */

/** When the library is loaded. @return whether launches are counted */
bool launches_open(void);

static inline void launches_add(void)
{
	if (launches_count)
		atomic_fetch_add_explicit(launches_count, 1, memory_order_relaxed);
}

#endif
