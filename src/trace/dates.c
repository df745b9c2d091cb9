/*
 * dates.c - dates with a time of day; see dates.h.
 */
#include "trace/dates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool date_parse(const char *text, int64_t *out_us)
{
	struct tm tm = { 0 };
	double fraction = 0;
	long east_s;
	char *end = strptime(text, "%Y-%m-%d", &tm);

	if (end && (*end == ' ' || *end == 'T'))
		end = strptime(end + 1, "%H:%M:%S", &tm);
	else
		end = NULL;
	if (end && *end == '.')
		fraction = strtod(end, &end);
	if (end && *end)
		end = strptime(end, "%z", &tm);
	if (!end || *end || fraction < 0 || fraction >= 1 || tm.tm_year < 70 || tm.tm_year > 8000)
		return false;
	east_s = tm.tm_gmtoff;
	*out_us = ((int64_t)timegm(&tm) - east_s) * 1000000 + llround(fraction * 1e6);
	return true;
}
