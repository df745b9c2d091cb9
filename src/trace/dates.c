/*
 * dates.c - dates with a time of day; see dates.h.
 */
#include "trace/dates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Digits at *s, which moves behind them. */
static bool take_number(const char **s, int least, int most, int *out)
{
	int n = 0, v = 0;

	while (n < most && (*s)[n] >= '0' && (*s)[n] <= '9')
		v = v * 10 + ((*s)[n++] - '0');
	if (n < least)
		return false;
	*s += n;
	*out = v;
	return true;
}

static bool take_char(const char **s, const char *any)
{
	if (!**s || !strchr(any, **s))
		return false;
	++*s;
	return true;
}

static bool take_day(const char **s, struct tm *tm)
{
	const char *separator = *s + 4;

	if (!take_number(s, 4, 4, &tm->tm_year) || !take_char(s, "-/") ||
	    !take_number(s, 1, 2, &tm->tm_mon) || **s != *separator)
		return false;
	++*s;
	return take_number(s, 1, 2, &tm->tm_mday);
}

static bool take_time(const char **s, struct tm *tm, double *fraction)
{
	char digits[16] = "0.";
	size_t n;

	if (!take_number(s, 1, 2, &tm->tm_hour) || !take_char(s, ":") ||
	    !take_number(s, 2, 2, &tm->tm_min))
		return false;
	if (!take_char(s, ":"))
		return true;
	if (!take_number(s, 2, 2, &tm->tm_sec))
		return false;
	if (!take_char(s, ".,"))
		return true;
	n = strspn(*s, "0123456789");
	strncat(digits, *s, n < 12 ? n : 12);
	*fraction = strtod(digits, NULL);
	*s += n;
	return n > 0;
}

/* "", Z, UTC, GMT, +01, +0100 or +01:00. @east_s is written if there is one. */
static bool take_zone(const char **s, bool *zoned, long *east_s)
{
	int hours, minutes = 0;
	char sign;

	*s += strspn(*s, " ");
	*zoned = **s != '\0';
	if (!*zoned || take_char(s, "Zz"))
		return true;
	if (strncmp(*s, "UTC", 3) == 0 || strncmp(*s, "GMT", 3) == 0) {
		*s += 3;
		return true;
	}
	sign = **s;
	if (!take_char(s, "+-") || !take_number(s, 2, 2, &hours))
		return false;
	take_char(s, ":");
	if (**s && !take_number(s, 2, 2, &minutes))
		return false;
	*east_s = (hours * 60L + minutes) * (sign == '-' ? -60 : 60);
	return hours <= 14 && minutes < 60;
}

static bool is_possible(const struct tm *tm)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	const int year = tm->tm_year;
	const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return year >= 1970 && tm->tm_mon >= 1 && tm->tm_mon <= 12 && tm->tm_mday >= 1 &&
	       tm->tm_mday <= days[tm->tm_mon - 1] + (leap && tm->tm_mon == 2) &&
	       tm->tm_hour < 24 && tm->tm_min < 60 && tm->tm_sec <= 60;
}

/* Leap seconds come at the end of June and December in UTC. */
static bool ends_half_year(time_t second_after)
{
	struct tm utc;

	return gmtime_r(&second_after, &utc) && utc.tm_mday == 1 && utc.tm_hour == 0 &&
	       utc.tm_min == 0 && utc.tm_sec == 0 && (utc.tm_mon == 0 || utc.tm_mon == 6);
}

enum date date_parse(const char *text, bool local, int64_t *out_us)
{
	struct tm tm = { 0 }, given;
	double fraction = 0;
	long east_s = 0;
	bool zoned, leap;
	time_t t;

	if (!take_day(&text, &tm) || (take_char(&text, " T") && !take_time(&text, &tm, &fraction)))
		return DATE_OTHER;
	if (!take_zone(&text, &zoned, &east_s) || *text)
		return DATE_OTHER;
	if (!is_possible(&tm))
		return DATE_IMPOSSIBLE;
	leap = tm.tm_sec == 60;
	tm.tm_sec -= leap;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	tm.tm_isdst = -1;
	given = tm;
	t = (local && !zoned ? mktime(&tm) : timegm(&tm)) - east_s + leap;
	/* Summer time began: mktime() moves a time that the clocks left out. */
	if (tm.tm_hour != given.tm_hour || tm.tm_min != given.tm_min)
		return DATE_IMPOSSIBLE;
	if (leap && !ends_half_year(t))
		return DATE_IMPOSSIBLE;
	*out_us = (int64_t)t * 1000000 + llround(fraction * 1e6);
	return zoned ? DATE_READ : DATE_UNZONED;
}
