/*
 * stderr_line.c - lines on standard error; see stderr_line.h.
 */
#include "stderr_line.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "heshare-fair: "

/* A pipe takes a line whole or, by poll(), not now; if its reader goes away at this moment there is
 * a signal. */
static void line_write(const char *line, size_t n)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };
	struct timespec now = { 0 };
	sigset_t pipe_only, old, pending;
	bool before;

	if (poll(&p, 1, 0) != 1 || p.revents != POLLOUT)
		return;
	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	if (pthread_sigmask(SIG_BLOCK, &pipe_only, &old))
		return;
	before = !sigpending(&pending) && sigismember(&pending, SIGPIPE);
	if (write(STDERR_FILENO, line, n) < 0 && errno == EPIPE && !before)
		sigtimedwait(&pipe_only, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

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
	line_write(line, at);
	errno = error;
}
