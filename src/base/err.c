/*
 * err.c - error sentences; see include/heshare/err.h.
 */
#include "heshare/err.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Values quoted from damaged files must not break the line or speak to a terminal. */
static void one_line(char *s)
{
	for (; *s; s++)
		if (iscntrl((unsigned char)*s))
			*s = '?';
}

int hes_fail(struct hes_err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	one_line(err->msg);
	return code;
}

int hes_fail_in(struct hes_err *err, const char *fmt, ...)
{
	char old[HES_ERR_MAX];
	va_list ap;
	int n;

	if (!err)
		return -EINVAL;
	memcpy(old, err->msg, sizeof(old));
	va_start(ap, fmt);
	n = vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(err->msg) &&
	    snprintf(err->msg + n, sizeof(err->msg) - (size_t)n, ": %s", old) < 0)
		err->msg[n] = '\0';
	one_line(err->msg);
	return err->code;
}
