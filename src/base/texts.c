/*
 * texts.c - sort texts; see texts.h.
 */
#include "base/texts.h"

#include <stdlib.h>
#include <string.h>

int hes_by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

int hes_by_pointed_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t hes_texts_distinct(void *texts, size_t n, size_t size)
{
	char *v = texts;
	size_t many = 0;

	if (n)
		qsort(v, n, size, hes_by_text);
	for (size_t i = 0; i < n; i++)
		if (many == 0 || strcmp(v + (many - 1) * size, v + i * size) != 0)
			memmove(v + many++ * size, v + i * size, size);
	return many;
}
