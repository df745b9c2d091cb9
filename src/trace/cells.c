/*
 * cells.c - read cells of logs; see cells.h.
 */
#include "trace/cells.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/num.h"

#define MAX_GPUS  1e5
#define MAX_DIGIT 63 /* bytes of a number */

/* --- missing --- */

static const char *const missing_words[] = {
	"",
	"na",
	"n/a",
	"n.a.",
	"nat",
	"null",
	"nil",
	"none",
	"\\n",
	"unknown",
	"missing",
	"undefined",
	"invalid",
	"not set",
	"notset",
	"unset",
	"none assigned",
	"not available",
	"n/d",
	"tbd",
	"unlimited",
	"empty",
	"no data",
	"not applicable",
	"partition_limit",
};

/* What stands for "never" or "unknown": -1, the greatest numbers of 31, 32 and 63 bits, Slurm's
 * NO_VAL, and NaT as a number. 64 bits are beyond the last. Also NaN and infinite, in words. */
static bool is_sentinel(const char *text)
{
	char *end;
	const double v = strtod(text, &end);

	if (end == text || *end)
		return false;
	return v == -1 || v == 2147483647.0 || v == 4294967294.0 || v == 4294967295.0 ||
	       (isfinite(v) ? fabs(v) >= 0x1p63 * (1 - 1e-12)
			    : isalpha((unsigned char)text[strspn(text, "+-")]));
}

/* Nothing but dashes and the like; errors of spreadsheets ("#REF!"); Windows' NaN ("-1.#IND"). */
static bool is_no_text(const char *text, size_t len)
{
	const char *unsigned_text = text + strspn(text, "+-");

	return strspn(text, "-.?*_~ \xe2\x80\x93\x94") >= len || *text == '#' ||
	       strncmp(unsigned_text, "1.#", 3) == 0;
}

bool cell_is_missing(const char *text)
{
	static const char *const dates[] = { "0000-00-00", "0001-01-01", "9999-12-31" };
	static const char pairs[] = "<>[](){}\'\'\"\"";
	size_t len = strlen(text);
	const char *open = len > 1 ? strchr(pairs, *text) : NULL;

	if (is_sentinel(text) || is_no_text(text, len))
		return true;
	if (open && text[len - 1] == open[1]) { /* "<null>", "[null]", "(none)" */
		text++;
		len -= 2;
	}
	for (size_t i = 0; i < sizeof(missing_words) / sizeof(missing_words[0]); i++)
		if (strlen(missing_words[i]) == len &&
		    strncasecmp(text, missing_words[i], len) == 0)
			return true;
	for (size_t i = 0; i < sizeof(dates) / sizeof(dates[0]); i++)
		if (strncmp(text, dates[i], strlen(dates[i])) == 0)
			return true;
	return false;
}

/* --- dates --- */

#define DATE_EXAMPLE "2017-10-09 07:01:55"

enum date {
	DATE_READ,
	DATE_UNZONED,    /* read, and the text has no zone */
	DATE_OTHER,      /* the text is no date */
	DATE_IMPOSSIBLE, /* there is no such date or time, or it is before 1970 */
};

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

/*
 * Read "2017-10-09 07:01:55", also with / and T, without the seconds or the time of day, with a
 * fraction of a second, and with Z, UTC or +01:00 at the end. A leap second is the second after it.
 * @param local   a time without a zone is in the zone of the process (TZ); else in UTC
 * @param out_us  since 1970; written only when it is read
 */
static enum date date_parse(const char *text, bool local, int64_t *out_us)
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

/* --- numbers and times --- */

int cell_number(const char *text, bool comma, double max, double *out, struct hes_err *err)
{
	char plain[MAX_DIGIT + 1];
	char *at;
	int rc;

	snprintf(plain, sizeof(plain), "%s", text);
	at = comma && strlen(text) <= MAX_DIGIT && !strchr(plain, '.') ? strchr(plain, ',') : NULL;
	if (at)
		*at = '.';
	rc = hes_parse_double("", at ? plain : text, 0, max, out, err);
	/* The caller names the column. */
	if (rc && err)
		memmove(err->msg, err->msg + 2, strlen(err->msg + 2) + 1);
	return rc;
}

int cell_moment(const char *text, bool comma, double unit_us, bool local, int64_t *out_us,
		struct hes_err *err)
{
	const enum date date = date_parse(text, local, out_us);
	double v;
	int rc;

	if (date == DATE_READ || date == DATE_UNZONED)
		return date == DATE_UNZONED;
	if (date == DATE_IMPOSSIBLE)
		return hes_fail(err, -EINVAL,
				"\"%.64s\" is a date or time that does not exist, or before 1970",
				text);
	rc = cell_number(text, comma, CELL_MAX_TIME_US / unit_us, &v, err);
	if (rc == -EINVAL)
		return hes_fail(err, -EINVAL,
				"\"%.64s\" is neither a number nor a time like " DATE_EXAMPLE,
				text);
	if (!rc)
		*out_us = llround(v * unit_us);
	return rc;
}

/* "2-", "2 days " or "2 days, " at *s, which moves behind it. @return days; 0: none */
static double take_days(const char **s)
{
	size_t n = strspn(*s, "0123456789");
	const char *end = *s + n;
	double days = n ? strtod(*s, NULL) : 0;

	if (!n || (*end != '-' && strncmp(end, " day", 4) != 0))
		return 0;
	if (*end == '-') {
		*s = end + 1;
		return days;
	}
	end += 4;
	end += *end == 's';
	end += strspn(end, ", ");
	*s = end;
	return days;
}

/* Numbers with colons between them. @return how many, at most 3; 0: the text is something else */
static size_t split_clock(const char *s, double part[3])
{
	char *end;

	for (size_t n = 0; n < 3 && *s >= '0' && *s <= '9'; s = end + 1) {
		part[n++] = strtod(s, &end);
		if (!*end)
			return n;
		if (*end != ':')
			return 0;
	}
	return 0;
}

/* @return whether @text has the form of a duration with days or colons */
static bool clock_duration(const char *text, double *out_s)
{
	double part[4] = { 0 }; /* behind the last one stays 0 */
	const char *s = text;
	const double days = take_days(&s);
	const bool dated = s != text;
	const size_t n = split_clock(s, part);
	const double *minutes = &part[dated || n == 3];

	if (dated && !*s && s[-1] != '-') { /* "2 days" */
		*out_s = days * 86400;
		return true;
	}
	if (n == 0 || (n == 1 && !dated) || (dated && part[0] >= 24) || minutes[1] >= 60 ||
	    (minutes > part && minutes[0] >= 60))
		return false;
	*out_s =
		days * 86400 + (minutes > part ? part[0] * 3600 : 0) + minutes[0] * 60 + minutes[1];
	return true;
}

static const struct {
	const char *names; /* between blanks */
	double s;
} duration_units[] = {
	{ " d day days ", 86400 },
	{ " h hr hrs hour hours ", 3600 },
	{ " m min mins minute minutes ", 60 },
	{ " s sec secs second seconds ", 1 },
	{ " ms msec msecs millisecond milliseconds ", 1e-3 },
	{ " us usec usecs microsecond microseconds ", 1e-6 },
};

/* The unit at *s, which moves behind it and blanks. @return its index; -1: none */
static int take_duration_unit(const char **s)
{
	const int n = (int)(sizeof(duration_units) / sizeof(duration_units[0]));
	char name[20];
	size_t len = 0;

	while (isalpha((unsigned char)(*s)[len]) && len < sizeof(name) - 3)
		len++;
	snprintf(name, sizeof(name), " %.*s ", (int)len, *s);
	for (int i = 0; len && i < n; i++) {
		if (!strcasestr(duration_units[i].names, name))
			continue;
		*s += len;
		*s += strspn(*s, " ");
		return i;
	}
	return -1;
}

/* "1800s", "40 min", "1h30m": numbers with units, the larger ones first.
 * @return whether @text has this form */
static bool unit_duration(const char *text, double *out_s)
{
	double sum = 0;
	int last = -1;

	do {
		char *end;
		const double v = isdigit((unsigned char)*text) ? strtod(text, &end) : -1;
		int unit;

		if (v < 0)
			return false;
		text = end + strspn(end, " ");
		unit = take_duration_unit(&text);
		if (unit <= last)
			return false;
		last = unit;
		sum += v * duration_units[unit].s;
	} while (*text);
	*out_s = sum;
	return true;
}

int cell_duration(const char *text, bool comma, double unit_us, int64_t *out_us,
		  struct hes_err *err)
{
	double v = 0;
	int rc;

	if (clock_duration(text, &v) || unit_duration(text, &v)) {
		unit_us = 1e6;
		if (v * unit_us > CELL_MAX_TIME_US)
			return hes_fail(err, -ERANGE, "%.64s is longer than %g s", text,
					CELL_MAX_TIME_US / 1e6);
	} else {
		rc = cell_number(text, comma, CELL_MAX_TIME_US / unit_us, &v, err);
		if (rc == -EINVAL)
			hes_fail(err, rc,
				 "\"%.64s\" is neither a number nor a time like 2-03:04:05", text);
		if (rc)
			return rc;
	}
	*out_us = llround(v * unit_us);
	return 0;
}

/* --- GPUs --- */

enum gpu_item {
	ITEM_OTHER, /* of another resource */
	ITEM_TOTAL,
	ITEM_TYPE, /* GPUs of one type, or of one chunk: the total, if there is one, has them */
	ITEM_UNCLEAR,
};

/* Whether @name of @len bytes is that of GPUs: "gpu", "ngpus", "nvidia.com/gpu". */
static bool is_gpu_name(const char *name, size_t len)
{
	static const char *const names[] = {
		"gpu", "gpus", "ngpu", "ngpus", "num_gpu", "num_gpus"
	};
	const char *slash = memrchr(name, '/', len);

	if (slash) {
		len -= (size_t)(slash + 1 - name);
		name = slash + 1;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == len && strncasecmp(name, names[i], len) == 0)
			return true;
	return false;
}

/* A number up to ":", "+", "(" or the end. */
static bool take_gpus(const char *s, double *out)
{
	char *end;

	*out = isdigit((unsigned char)*s) ? strtod(s, &end) : -1;
	return *out >= 0 && *out <= MAX_GPUS && (!*end || strchr("+:(", *end));
}

/* "select=2:ncpus=8:ngpus=1+1:ngpus=4" of PBS: chunks of a number and of what each has. */
static enum gpu_item read_chunks(const char *s, double *out)
{
	enum gpu_item item = ITEM_OTHER;
	double chunks = 1, n;

	*out = 0;
	for (size_t len; *s; s += len + (s[len] == '+' || s[len] == ':')) {
		const char *equals;

		len = strcspn(s, "+:");
		equals = memchr(s, '=', len);
		if (!equals) {
			if (take_gpus(s, &n))
				chunks = n;
		} else if (is_gpu_name(s, (size_t)(equals - s))) {
			if (!take_gpus(equals + 1, &n))
				return ITEM_UNCLEAR;
			*out += chunks * n;
			item = ITEM_TYPE;
		}
		if (s[len] == '+')
			chunks = 1;
	}
	return item;
}

/* ":a100=2", ":2" or ":a100:2(S:0-1)" behind "gpu"; a type without a number is one GPU. */
static enum gpu_item read_gpu_value(const char *s, double *out)
{
	const char *type = *s == ':' ? s + 1 : NULL;
	size_t len;

	*out = 1;
	if (!*s || *s == '(')
		return ITEM_TOTAL;
	if (take_gpus(s + 1, out))
		return ITEM_TOTAL;
	len = type ? strcspn(type, ":=(") : 0;
	if (len < 2 || !isalnum((unsigned char)*type) || (isdigit((unsigned char)*type) && len < 4))
		return ITEM_UNCLEAR;
	*out = 1;
	if (type[len] && type[len] != '(' && !take_gpus(type + len + 1, out))
		return ITEM_UNCLEAR;
	return ITEM_TYPE;
}

/* "a100:2" is 2 GPUs; "mps:100" and the like are no GPUs; "8:00" can be anything. */
static enum gpu_item read_type_item(const char *item, double *out)
{
	static const char *const others[] = { "mps",  "shard", "nic",    "craynetwork", "bandwidth",
					      "fpga", "mic",   "lustre", "scratch",     "tmp" };
	const size_t name = strcspn(item, ":");

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strlen(others[i]) == name && strncasecmp(item, others[i], name) == 0)
			return ITEM_OTHER;
	return strspn(item, "0123456789") < name && strcspn(item, "0123456789") < name &&
			       take_gpus(item + name + 1, out)
		       ? ITEM_TYPE
		       : ITEM_UNCLEAR;
}

/* One item of a list of resources: "gres/gpu=2", "gres/gpu:a100=1", "gpu:2", "cpu=8", "mps:100". */
static enum gpu_item read_gpu_item(const char *item, double *out)
{
	const size_t name = strcspn(item, ":=(");
	const char *equals = strchr(item, '=');

	if (strncasecmp(item, "gres:", 5) == 0)
		return read_gpu_item(item + 5, out);
	if (strncasecmp(item, "select=", 7) == 0 || strncasecmp(item, "nodes=", 6) == 0)
		return read_chunks(strchr(item, '=') + 1, out);
	if (is_gpu_name(item, name))
		return read_gpu_value(item + name, out);
	if (item[name] == ':' && equals && isdigit((unsigned char)*item))
		return read_chunks(item, out);
	if (equals || strncasecmp(item, "gres/", 5) == 0)
		return ITEM_OTHER;
	return item[name] == ':' ? read_type_item(item, out) : ITEM_UNCLEAR;
}

/* A list without a GPU has none. The sum of types counts where there is no total. */
static int resource_gpus(const char *list, double *out)
{
	double total = 0, of_types = 0;
	bool has_total = false, has_types = false, unclear = false, wrong = false;

	for (size_t len; *list; list += len + (list[len] == ',')) {
		char item[256];
		double n;
		enum gpu_item is;

		len = strcspn(list, ",");
		snprintf(item, sizeof(item), "%.*s", (int)len, list);
		is = read_gpu_item(item, &n);
		has_total |= is == ITEM_TOTAL;
		has_types |= is == ITEM_TYPE;
		total += is == ITEM_TOTAL ? n : 0;
		of_types += is == ITEM_TYPE ? n : 0;
		wrong |= is == ITEM_UNCLEAR && strcasestr(item, "gpu");
		unclear |= is == ITEM_UNCLEAR;
	}
	/* What is listed with GPUs is another resource of the site. */
	if (wrong || (unclear && !has_total && !has_types))
		return -EINVAL;
	*out = has_total ? total : of_types;
	return 0;
}

int cell_gpus(const char *text, bool comma, double *out, struct hes_err *err)
{
	const size_t len = strlen(text);
	char number[MAX_DIGIT + 1];

	if (len > 1 && len <= MAX_DIGIT && text[len - 1] == '%') {
		snprintf(number, sizeof(number), "%.*s", (int)(len - 1 - (text[len - 2] == ' ')),
			 text);
		return cell_number(number, comma, MAX_GPUS, out, err);
	}
	if (!strpbrk(text, "=:") && strncasecmp(text, "gpu", 3) != 0 &&
	    strncasecmp(text, "gres", 4) != 0)
		return cell_number(text, comma, MAX_GPUS, out, err);
	return resource_gpus(text, out) ? hes_fail(err, -EINVAL,
						   "\"%.64s\" has no number of GPUs, as 2, "
						   "gpu:a100:2, gres/gpu=2 and "
						   "select=1:ngpus=2 have",
						   text)
					: 0;
}
