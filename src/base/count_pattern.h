/*
 * count_pattern.h - a regular expression that finds a count in a line, such as "step (\d+)".
 *
 * POSIX extended, with \d \D \w \W \s \S \t and groups (?:...) that do not count. Exactly one group
 * is the count. Lines may come from programs that mean harm, so what makes a search slow is refused
 * (references such as \1) or cut (long lines, long numbers).
 */
#ifndef HES_BASE_COUNT_PATTERN_H
#define HES_BASE_COUNT_PATTERN_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include "heshare/err.h"

#define HES_COUNT_PATTERN_MAX 200 /* bytes of its text */
#define HES_COUNT_LINE_MAX    256 /* bytes of a line that are searched */

struct hes_count_pattern {
	bool made;
	regex_t regex;
	unsigned group;
};

/** @return 0; -EINVAL, -ERANGE with @what, the place, and an example */
int hes_count_pattern_make(struct hes_count_pattern *out, const char *what, const char *text,
			   struct hes_err *err);
/** Harmless on one that is all zero. */
void hes_count_pattern_free(struct hes_count_pattern *p);
/**
 * Search @line; escape sequences of terminals, such as colours, are no part of it.
 * @return whether it matches and its group is a whole number below 10^18; *count is written only
 * then
 */
bool hes_count_pattern_find(const struct hes_count_pattern *p, const char *line, uint64_t *count);

#endif
