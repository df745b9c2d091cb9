/*
 * grow.h - arrays that grow by one element at a time.
 */
#ifndef HES_BASE_GROW_H
#define HES_BASE_GROW_H

#include <stdlib.h>

/**
 * Make room for one more element in an array of @n, NULL where n is 0, that has grown by this
 * alone. The room is a power of two, so it needs no variable. @return the array; NULL: out of
 * memory, the array stays as it was
 */
static inline void *hes_grow(void *array, size_t n, size_t size)
{
	return n & (n - 1) ? array : reallocarray(array, n ? 2 * n : 1, size);
}

#endif
