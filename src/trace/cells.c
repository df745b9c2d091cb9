/*
 * cells.c - read cells of logs; see cells.h.
 */
#include "trace/cells.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "trace/dates.h"

#define MAX_GPUS  1e5
#define MAX_DIGIT 63 /* bytes of a number */

/* --- missing --- */

static const char *const missing_words[] = {
	"",     "nan",       "nat",  "na",     "n/a",   "n.a.",    "#n/a",    "null",
	"nil",  "none",      "\\n",  "-",      "--",    "?",       "unknown", "missing",
	"<na>", "undefined", "-nan", "(null)", "<nil>", "invalid",
};

/* What stands for "never" or "unknown": the greatest numbers of 31, 32 and 63 bits, Slurm's
 * NO_VAL, and NaT as a number. 64 bits are beyond the last. */
static bool is_sentinel(double v)
{
	return v == 2147483647.0 || v == 4294967294.0 || v == 4294967295.0 ||
	       (isfinite(v) && fabs(v) >= 0x1p63 * (1 - 1e-12));
}

bool cell_is_missing(const char *text)
{
	static const char *const dates[] = { "0000-00-00", "0001-01-01", "9999-12-31" };
	char *end;
	double v;

	for (size_t i = 0; i < sizeof(missing_words) / sizeof(missing_words[0]); i++)
		if (strcasecmp(text, missing_words[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof(dates) / sizeof(dates[0]); i++)
		if (strncmp(text, dates[i], strlen(dates[i])) == 0)
			return true;
	v = strtod(text, &end);
	return end > text && !*end && is_sentinel(v);
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

int cell_duration(const char *text, bool comma, double unit_us, int64_t *out_us,
		  struct hes_err *err)
{
	double v = 0;
	int rc;

	if (clock_duration(text, &v)) {
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

/*
 * One item of a list of resources: "gres/gpu=2", "gres/gpu:a100=1", "gpu:2", "gpu:a100:2(S:0-1)".
 * @return whether it is about GPUs; *typed: it names their type
 */
static bool gpu_item(const char *item, size_t len, bool *typed, double *out)
{
	const char *end = item + len, *s = item, *number = NULL;
	char *stop;

	if (strncmp(s, "gres/", 5) == 0 || strncmp(s, "gres:", 5) == 0)
		s += 5;
	if (strncmp(s, "gpu", 3) != 0)
		return false;
	s += 3;
	if (s < end && *s != '=' && *s != ':') /* gres/gpumem, gres/gpuutil */
		return false;
	for (const char *p = s; p < end && *p != '('; p++)
		if (*p == '=' || *p == ':')
			number = p + 1;
	*typed = number && number - 1 > s;
	*out = 1;
	if (!number)
		return true;
	*out = strtod(number, &stop);
	if (stop == number) { /* gpu:a100 is one */
		*typed = true;
		*out = 1;
	}
	return *out >= 0 && *out <= MAX_GPUS;
}

/* A list without a GPU has none. The sum of types counts where there is no total. */
static double resource_gpus(const char *list)
{
	double total = 0, of_types = 0;
	bool has_total = false;

	while (*list) {
		size_t len = strcspn(list, ",");
		bool typed;
		double n;

		if (gpu_item(list, len, &typed, &n)) {
			has_total |= !typed;
			*(typed ? &of_types : &total) += n;
		}
		list += len + (list[len] == ',');
	}
	return has_total ? total : of_types;
}

int cell_gpus(const char *text, bool comma, double *out, struct hes_err *err)
{
	if (strpbrk(text, "=:") || strncmp(text, "gpu", 3) == 0 || strncmp(text, "gres", 4) == 0) {
		*out = resource_gpus(text);
		return 0;
	}
	return cell_number(text, comma, MAX_GPUS, out, err);
}
