/*
 * utf8.h - check UTF-8, which all text in JSON must be, and check names.
 */
#ifndef HES_BASE_UTF8_H
#define HES_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"

/** As Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF. */
bool hes_is_utf8(const char *text);
/** Bytes of the character at @text, of which @n are there; 0: none is well-formed there. */
size_t hes_utf8_character(const char *text, size_t n);
/** The code point of a character of @n bytes, which is well-formed. */
uint32_t hes_utf8_code(const char *text, size_t n);
/** Columns of a terminal that @n bytes take, as wcwidth() in a UTF-8 locale; a byte that is not of
 * a character takes one. */
int hes_utf8_width(const char *text, size_t n);
/** Whether the character at @text is a control character: U+0001 to U+001F, U+007F to U+009F. */
bool hes_utf8_is_control(const char *text);

/**
 * A name from outside, which may be printed and end up in JSON: 1 to @max bytes of UTF-8, no
 * control character.
 * @return 0; -EINVAL, -ERANGE with @what in front of the reason
 */
int hes_check_name(const char *what, const char *text, size_t max, struct hes_err *err);

#endif
