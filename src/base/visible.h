/*
 * visible.h - text from outside, printed so that it cannot speak to the terminal.
 *
 * Control characters, bytes that are not UTF-8, and characters that change the order or the breaking of lines are printed
 * byte by byte as \xNN. Anything else, the backslash too, is printed as it is: a command can be copied.
 */
#ifndef HES_BASE_VISIBLE_H
#define HES_BASE_VISIBLE_H

#include <stddef.h>
#include <stdio.h>

/** Print @text, then blanks up to @width bytes. */
void hes_visible_put(FILE *f, int width, const char *text);
/** Print the first @n bytes of @text, or up to its NUL. */
void hes_visible_put_part(FILE *f, const char *text, size_t n);

#endif
