/*
 * stderr_line.c - lines on standard error; see stderr_line.h.
 */
#include "stderr_line.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "heshare-fair: "

void tell(const char *format, ...)
{
	char line[512] = PREFIX;
	size_t at = strlen(PREFIX);
	int error = errno, n;
	va_list args;

	va_start(args, format);
	n = vsnprintf(line + at, sizeof(line) - at - 1, format, args);
	va_end(args);
	if (n > 0)
		at += (size_t)n < sizeof(line) - at - 1 ? (size_t)n : sizeof(line) - at - 2;
	line[at++] = '\n';
	if (write(STDERR_FILENO, line, at) < 0)
		errno = error;
	errno = error;
}
