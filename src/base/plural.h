/*
 * plural.h - the plural s of nouns after numbers, and the article of names.
 */
#ifndef HES_BASE_PLURAL_H
#define HES_BASE_PLURAL_H

#include <stdint.h>
#include <string.h>

/** The ending of a noun that stands for @n things: "%zu job%s". */
static inline const char *hes_s(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/** The article of a name: "a T4", "an A100", "an L4". Letters before a digit, or in upper case, are
 * spoken one by one. */
static inline const char *hes_article(const char *name)
{
	const char second = name[0] ? name[1] : '\0';
	const char *an = second >= 'a' && second <= 'z' ? "AEIOUaeiou" : "AEFHILMNORSXaeiou";

	return name[0] && strchr(an, name[0]) ? "an" : "a";
}

#endif
