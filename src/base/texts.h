/*
 * texts.h - sort texts and remove duplicates: char v[n][size], or pointers to texts; append to one;
 * find the one that was meant.
 */
#ifndef HES_BASE_TEXTS_H
#define HES_BASE_TEXTS_H

#include <stdbool.h>
#include <stddef.h>

#include "heshare/err.h"

/** For qsort, of texts that lie in the array and of pointers to texts; bytes decide. */
int hes_by_text(const void *a, const void *b);
int hes_by_pointed_text(const void *a, const void *b);

/** Sort @n texts of @size bytes each and keep one of each. @return how many there are then */
size_t hes_texts_distinct(void *texts, size_t n, size_t size);

/** Index of a text among @n sorted ones, the first at @first, @stride bytes apart; @n: it is not
 * there. */
size_t hes_texts_find(const char *first, size_t stride, size_t n, const char *text);

/** Append to the text @out of @size bytes, with @between before it unless the text is empty. What
 * does not fit is cut. */
void hes_text_add(char *out, size_t size, const char *between, const char *fmt, ...)
	HES_PRINTF(4, 5);

/** Take the next word of a list with commas, and move on; what does not fit is cut. @param list
 * NULL at its end, and where there is none. @return false: there is none */
bool hes_text_next(const char **list, char *word, size_t size);
/** @return the name nearest to @word within a third of its length, or NULL */
const char *hes_text_nearest(const char *word, const char *const *names, size_t n);

#endif
