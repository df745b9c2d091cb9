/*
 * texts.c - sort texts, append to one; see texts.h.
 */
#include "base/texts.h"

#include <stdarg.h>
#include <stdio.h>
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

size_t hes_texts_find(const char *first, size_t stride, size_t n, const char *text)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int d = strcmp(first + mid * stride, text);

		if (d == 0)
			return mid;
		if (d < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return n;
}

void hes_text_add(char *out, size_t size, const char *between, const char *fmt, ...)
{
	size_t at = strlen(out);
	va_list args;

	if (at)
		at += (size_t)snprintf(out + at, size - at, "%s", between);
	if (at >= size)
		return;
	va_start(args, fmt);
	vsnprintf(out + at, size - at, fmt, args);
	va_end(args);
}
