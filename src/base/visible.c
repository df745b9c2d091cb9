/*
 * visible.c - print foreign text safely; see visible.h.
 */
#include "base/visible.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

/* Line and paragraph separators, and marks that turn the direction of what follows. */
static const char *const turning[] = {
	"\xd8\x9c",     "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xa9",
	"\xe2\x80\xaa", "\xe2\x80\xab", "\xe2\x80\xac", "\xe2\x80\xad", "\xe2\x80\xae",
	"\xe2\x81\xa6", "\xe2\x81\xa7", "\xe2\x81\xa8", "\xe2\x81\xa9",
};

static bool turns(const char *s, size_t n)
{
	for (size_t i = 0; i < sizeof(turning) / sizeof(turning[0]); i++)
		if (strlen(turning[i]) == n && memcmp(turning[i], s, n) == 0)
			return true;
	return false;
}

/* Print up to @n bytes. @return bytes printed */
static size_t put_part(FILE *f, const char *text, size_t n)
{
	const char *end = text + strnlen(text, n);
	size_t printed = 0;

	while (text < end) {
		size_t bytes = hes_utf8_character(text, (size_t)(end - text));

		if (bytes && !hes_utf8_is_control(text) && !turns(text, bytes)) {
			fwrite(text, 1, bytes, f);
			printed += bytes;
		} else {
			bytes = bytes ? bytes : 1;
			for (size_t i = 0; i < bytes; i++)
				fprintf(f, "\\x%02x", (unsigned char)text[i]);
			printed += 4 * bytes;
		}
		text += bytes;
	}
	return printed;
}

void hes_visible_put(FILE *f, int width, const char *text)
{
	size_t printed = put_part(f, text, strlen(text));

	if (width > 0 && printed < (size_t)width)
		fprintf(f, "%*s", width - (int)printed, "");
}

void hes_visible_put_part(FILE *f, const char *text, size_t n)
{
	put_part(f, text, n);
}
