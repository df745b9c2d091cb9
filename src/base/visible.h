/*
 * visible.h - print text from outside so that it cannot control the terminal.
 *
 * Control characters, bytes that are not UTF-8, and characters that change the direction or
 * breaking of lines are printed as \xNN. Everything else, the backslash too, is printed as it is,
 * so that a command can be copied.
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
