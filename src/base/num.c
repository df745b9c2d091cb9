/*
 * num.c - parse numbers; see num.h.
 */
#include "base/num.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_space(const char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

int hes_parse_double(const char *what, const char *text, double min, double max, double *out,
		     struct hes_err *err)
{
	char *end;
	double v;

	errno = 0;
	v = strtod(text, &end);
	if (end == text || *skip_space(end))
		return hes_fail(err, -EINVAL, "%s: \"%.64s\" is not a number", what, text);
	if (!isfinite(v))
		return hes_fail(err, -ERANGE, "%s: \"%.64s\" is not a finite number", what, text);
	if (v < min || v > max)
		return hes_fail(err, -ERANGE, "%s: %.64s is outside %g to %g", what, text, min,
				max);
	*out = v;
	return 0;
}

int hes_parse_u64(const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *out,
		  struct hes_err *err)
{
	const char *start = skip_space(text);
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(start, &end, 10);
	if (end == start || *skip_space(end) || !isdigit((unsigned char)*start))
		return hes_fail(err, -EINVAL,
				"%s: \"%.64s\" is not a whole number from %" PRIu64 " to %" PRIu64,
				what, text, min, max);
	if (errno == ERANGE || v < min || v > max)
		return hes_fail(err, -ERANGE, "%s: %.64s is outside %" PRIu64 " to %" PRIu64, what,
				text, min, max);
	*out = v;
	return 0;
}

int hes_parse_u32(const char *what, const char *text, uint32_t min, uint32_t max, uint32_t *out,
		  struct hes_err *err)
{
	uint64_t v;
	int rc = hes_parse_u64(what, text, min, max, &v, err);

	if (!rc)
		*out = (uint32_t)v;
	return rc;
}

int hes_parse_size(const char *what, const char *text, uint64_t *out, struct hes_err *err)
{
	static const char units[] = "kMGT";
	const size_t n = strlen(text);
	const char *unit = n ? strchr(units, text[n - 1]) : NULL;
	const unsigned bits = unit && n ? 10 * (unsigned)(unit - units + 1) : 0;
	char number[24];
	uint64_t v;

	if (snprintf(number, sizeof(number), "%.*s", (int)(bits ? n - 1 : n), text) >=
		    (int)sizeof(number) ||
	    hes_parse_u64(what, number, 0, UINT64_MAX >> bits, &v, NULL))
		return hes_fail(
			err, -EINVAL,
			"%s: \"%.40s\" is no size; write bytes, or a number with k, M, G or "
			"T, such as 50M",
			what, text);
	*out = v << bits;
	return 0;
}

int hes_parse_seconds(const char *what, const char *text, int64_t *out_us, struct hes_err *err)
{
	double s;
	int rc = hes_parse_double(what, text, 0, 1e9, &s, err);

	if (!rc)
		*out_us = (int64_t)llround(s * 1e6);
	return rc;
}

int hes_parse_time(const char *what, const char *text, uint64_t max_ns, uint64_t *out_ns,
		   struct hes_err *err)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "ms", 1e6 }, { "us", 1e3 }, { "s", 1e9 } };
	size_t n = strlen(text);
	char number[32];
	double value;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t unit = strlen(units[i].unit);
		int rc;

		if (n <= unit || n - unit >= sizeof(number) ||
		    strcmp(text + n - unit, units[i].unit) != 0)
			continue;
		snprintf(number, sizeof(number), "%.*s", (int)(n - unit), text);
		rc = hes_parse_double(what, number, 0, (double)max_ns / units[i].ns, &value, err);
		if (!rc)
			*out_ns = (uint64_t)llround(value * units[i].ns);
		return rc;
	}
	return hes_fail(err, -EINVAL, "%s: \"%.40s\" is no time such as 200ms, 2s or 500us", what,
			text);
}
