/*
 * utf8.h - whether text is UTF-8, as everything that ends up in JSON must be.
 */
#ifndef HES_BASE_UTF8_H
#define HES_BASE_UTF8_H

#include <stdbool.h>

/** As Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF. */
bool hes_is_utf8(const char *text);

#endif
