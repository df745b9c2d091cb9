/*
 * texts.c - sort texts, append to one, find one that was meant; see texts.h.
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

bool hes_text_next(const char **list, char *word, size_t size)
{
	const size_t n = *list ? strcspn(*list, ",") : 0;

	if (!*list)
		return false;
	snprintf(word, size, "%.*s", (int)n, *list);
	*list = (*list)[n] ? *list + n + 1 : NULL;
	return true;
}

/* Levenshtein distance; words longer than 31 bytes count as far. */
static size_t letters_between(const char *a, const char *b)
{
	size_t row[32], la = strlen(a), lb = strlen(b);

	if (la > 31 || lb > 31)
		return 99;
	for (size_t j = 0; j <= lb; j++)
		row[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t diag = row[0];

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t up = row[j];

			const size_t step = (up < row[j - 1] ? up : row[j - 1]) + 1;

			diag += a[i - 1] != b[j - 1];
			row[j] = step < diag ? step : diag;
			diag = up;
		}
	}
	return row[lb];
}

const char *hes_text_nearest(const char *word, const char *const *names, size_t n)
{
	const size_t letters = strlen(word);
	size_t best = letters / 3 + 2;
	const char *found = NULL;

	/* A word of which no letter stays is another word. */
	if (best > letters)
		best = letters;
	for (size_t i = 0; i < n; i++) {
		size_t d = letters_between(word, names[i]);

		if (d < best) {
			best = d;
			found = names[i];
		}
	}
	return found;
}
