/*
 * symbols.h - the driver's functions: the real ones, and ours by all routes that a program has to
 * them.
 */
#ifndef HES_INTERPOSE_SYMBOLS_H
#define HES_INTERPOSE_SYMBOLS_H

#include <stdatomic.h>

#include "calls.h"

#define CALL_NOT_FOUND 500 /* CUDA_ERROR_NOT_FOUND */

extern void *_Atomic call_reals[N_CALLS];

/** Look up a real function at its first use. @return NULL: the driver has none */
void *call_resolve(enum call c);

/** @return the real function; NULL: there is no driver, or none with it */
static inline void *call_real(enum call c)
{
	void *real = atomic_load_explicit(&call_reals[c], memory_order_acquire);

	return __builtin_expect(real != NULL, 1) ? real : call_resolve(c);
}

/** @return a function of the driver by its exported name, never one of ours; NULL: there is none */
void *driver_symbol(const char *name);

#endif
