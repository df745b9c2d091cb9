/*
 * job_log.c - pass the output of a job on to its log, up to a bound; see job_log.h.
 */
#include "launch/job_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define PIECE      65536
#define NOTES      128 /* bytes of what is said before the last ones */
#define PROGRESS_S 1   /* at least between two progress lines behind the bound */

int job_log_open(struct job_log *l, int to, uint64_t max, const char *pattern)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	*l = (struct job_log){ .from = ends[0], .to = to, .max = max };
	if (pattern)
		hes_count_pattern_make(&l->pattern, "progress", pattern, NULL);
	return ends[1];
}

/* @return bytes that were written */
static size_t log_write(struct job_log *l, const char *bytes, size_t n)
{
	size_t at = 0;

	while (at < n) {
		const ssize_t part = write(l->to, bytes + at, n - at);

		if (part < 0 && errno == EINTR)
			continue;
		if (part < 0) {
			l->error = errno;
			break;
		}
		at += (size_t)part;
	}
	l->written += at;
	return at;
}

/* Bytes that cannot be written are counted; the next ones that can come after a line about it. */
static void log_put(struct job_log *l, const char *bytes, size_t n)
{
	char note[160];
	int length;

	if (l->lost) {
		length = snprintf(note, sizeof(note),
				  "\n[heshare: %" PRIu64 " bytes could not be written here: %s]\n",
				  l->lost, strerror(l->error));
		if (log_write(l, note, (size_t)length) < (size_t)length) {
			l->lost += n;
			return;
		}
		l->lost = 0;
	}
	l->lost += n - log_write(l, bytes, n);
}

static void log_note_bound(struct job_log *l)
{
	char note[240];
	const int length = snprintf(note, sizeof(note),
				    "\n[heshare: the log has %" PRIu64
				    " bytes, half of --log-max; from here on it has progress, and "
				    "the last lines at the end]\n",
				    l->written);

	log_put(l, note, (size_t)length);
}

static void log_line_end(struct job_log *l)
{
	const double now_s = hes_monotonic_s();
	uint64_t iterations;
	double seconds;

	l->line[l->used] = '\0';
	if (now_s - l->searched_s >= PROGRESS_S) {
		l->searched_s = now_s;
		l->count.left = HES_PROGRESS_SEARCHES;
	}
	if (now_s - l->progress_s >= PROGRESS_S &&
	    hes_progress_find(&l->count, &l->pattern, l->line, &iterations, &seconds)) {
		l->progress_s = now_s;
		l->line[l->used] = '\n';
		log_put(l, l->line, l->used + 1);
	}
	l->used = 0;
}

/* Behind the bound. */
static void log_keep_last(struct job_log *l, const char *bytes, size_t n)
{
	if (!l->after && n)
		log_note_bound(l);
	for (size_t i = 0; i < n; i++) {
		l->tail[l->after++ % JOB_LOG_TAIL] = bytes[i];
		if (bytes[i] == '\n' || bytes[i] == '\r')
			log_line_end(l);
		else if (l->used < HES_PROGRESS_LINE_MAX)
			l->line[l->used++] = bytes[i];
	}
}

static void log_take(struct job_log *l, const char *bytes, size_t n)
{
	const uint64_t most = l->max ? l->max / 2 : UINT64_MAX;
	size_t first = 0;

	if (!l->after && l->written < most)
		first = most - l->written < n ? (size_t)(most - l->written) : n;
	log_put(l, bytes, first);
	log_keep_last(l, bytes + first, n - first);
}

void job_log_pass(struct job_log *l)
{
	char bytes[PIECE];
	const ssize_t n = read(l->from, bytes, sizeof(bytes));

	if (n > 0) {
		log_take(l, bytes, (size_t)n);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		close(l->from);
		l->from = -1;
	}
}

/* The last bytes, from the beginning of a line on where there is one. */
static void log_put_tail(struct job_log *l)
{
	const uint64_t left = l->max > l->written + NOTES ? l->max - l->written - NOTES : 0,
		       room = left < JOB_LOG_TAIL ? left : JOB_LOG_TAIL;
	uint64_t at = l->after > room ? l->after - room : 0;
	const uint64_t first = at;
	char note[120];
	int length;

	while (first && at < l->after && l->tail[(at - 1) % JOB_LOG_TAIL] != '\n')
		at++;
	at = at < l->after ? at : first;
	length = snprintf(note, sizeof(note), "[heshare: %" PRIu64 " bytes are left out here]\n",
			  at);
	if (at)
		log_put(l, note, (size_t)length);
	for (uint64_t part; at < l->after; at += part) {
		const uint64_t from = at % JOB_LOG_TAIL;

		part = l->after - at < JOB_LOG_TAIL - from ? l->after - at : JOB_LOG_TAIL - from;
		log_put(l, l->tail + from, (size_t)part);
	}
}

void job_log_pass_all(struct job_log *l)
{
	uint64_t before;

	/* A process that writes without end is not followed for ever. */
	for (int i = 0; i < 64 && l->from >= 0; i++) {
		before = l->written + l->lost + l->after;
		job_log_pass(l);
		if (l->from >= 0 && l->written + l->lost + l->after == before)
			break;
	}
}

void job_log_finish(struct job_log *l)
{
	job_log_pass_all(l);
	if (l->after)
		log_put_tail(l);
	else if (l->lost)
		log_put(l, "", 0);
	if (l->from >= 0)
		close(l->from);
	l->from = -1;
}
