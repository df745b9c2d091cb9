/*
 * ranges.c - parse lists of numbers such as "10..100" and "30,60"; see heshare/profiler.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "heshare/profiler.h"

#define TENS 10

struct range {
	uint32_t from, to, step;
};

/* "A", "A..B" or "A..B:STEP" */
static int parse_range(const char *what, char *text, uint32_t min, uint32_t max, struct range *r,
		       struct hes_err *err)
{
	char *dots = strstr(text, ".."), *colon = dots ? strchr(dots, ':') : NULL;
	int rc;

	if (colon)
		*colon = '\0';
	if (dots)
		*dots = '\0';
	rc = hes_parse_u32(what, text, min, max, &r->from, err);
	r->to = r->from;
	r->step = TENS;
	if (!rc && dots)
		rc = hes_parse_u32(what, dots + 2, min, max, &r->to, err);
	if (!rc && colon)
		rc = hes_parse_u32(what, colon + 1, 1, max, &r->step, err);
	if (!rc && r->to < r->from)
		rc = hes_fail(err, -EINVAL, "%s: %u..%u goes down; write %u..%u", what, r->from,
			      r->to, r->to, r->from);
	return rc;
}

static int ascending(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static size_t unique(uint32_t *v, size_t n)
{
	size_t kept = 0;

	qsort(v, n, sizeof(*v), ascending);
	for (size_t i = 0; i < n; i++)
		if (!kept || v[kept - 1] != v[i])
			v[kept++] = v[i];
	return kept;
}

int hes_ranges_parse(const char *what, const char *text, uint32_t min, uint32_t max, uint32_t *out,
		     size_t size, struct hes_err *err)
{
	char *copy = strdup(text), *at = copy, *part;
	uint32_t found[256];
	size_t n = 0;
	int rc = copy ? 0 : hes_fail(err, -ENOMEM, "out of memory");

	while (!rc && (part = strsep(&at, ","))) {
		struct range r;

		rc = parse_range(what, part, min, max, &r, err);
		for (uint64_t v = r.from; !rc && v <= r.to; v += r.step) {
			if (n == sizeof(found) / sizeof(found[0]))
				rc = hes_fail(err, -E2BIG, "%s: \"%.60s\" are more than %zu values",
					      what, text, n);
			else
				found[n++] = (uint32_t)v;
		}
	}
	free(copy);
	if (rc)
		return rc;
	n = unique(found, n);
	if (n > size)
		return hes_fail(err, -E2BIG, "%s: \"%.60s\" are %zu values; at most %zu are taken",
				what, text, n, size);
	memcpy(out, found, n * sizeof(*found));
	return (int)n;
}
