/*
 * time_option.c - read times such as 200ms; see time_option.h.
 */
#include "cli/fair/time_option.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "heshare/fair_queue.h"

int fair_time_parse(const char *what, const char *text, uint64_t *out_ns, struct hes_err *err)
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
		rc = hes_parse_double(what, number, 0, (double)HES_FAIR_MAX_NS / units[i].ns,
				      &value, err);
		if (!rc)
			*out_ns = (uint64_t)llround(value * units[i].ns);
		return rc;
	}
	return hes_fail(err, -EINVAL, "%s: \"%.40s\" is no time such as 200ms, 2s or 500us", what,
			text);
}
