/*
 * progress.c - find the progress lines in a job's output; see progress.h.
 */
#include "launch/progress.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plural.h"

#define BEFORE "heshare: "
#define AFTER  " iterations"
#define IN     " in "

int hes_progress_open(struct hes_progress *out, const struct hes_job_folder *f, const char *name,
		      uint64_t offset, const char *pattern, struct hes_err *err)
{
	struct hes_count_pattern p = { .made = false };
	int fd = hes_job_file_read(f, name, err);

	if (fd < 0)
		return fd;
	if (offset && lseek(fd, (off_t)offset, SEEK_SET) < 0) {
		int rc = -errno;

		close(fd);
		return hes_fail(err, rc, "%s: %s", name, strerror(-rc));
	}
	if (pattern && hes_count_pattern_make(&p, "progress", pattern, err)) {
		close(fd);
		return -EINVAL;
	}
	*out = (struct hes_progress){ .fd = fd, .pattern = p };
	return 0;
}

void hes_progress_close(struct hes_progress *p)
{
	if (p->fd >= 0)
		close(p->fd);
	hes_count_pattern_free(&p->pattern);
	*p = (struct hes_progress){ .fd = -1 };
}

bool hes_progress_parse(const char *line, uint64_t *iterations, double *seconds)
{
	double s = NAN;
	uint64_t n;
	char *end;

	if (strncmp(line, BEFORE, strlen(BEFORE)) != 0 ||
	    !isdigit((unsigned char)line[strlen(BEFORE)]))
		return false;
	errno = 0;
	n = strtoull(line + strlen(BEFORE), &end, 10);
	if (errno || n > INT64_MAX || strncmp(end, AFTER, strlen(AFTER)) != 0)
		return false;
	end += strlen(AFTER);
	if (*end && strncmp(end, IN, strlen(IN)) != 0)
		return false;
	if (*end)
		s = strtod(end + strlen(IN), NULL);
	*iterations = n;
	*seconds = isfinite(s) && s >= 0 ? s : NAN;
	return true;
}

bool hes_progress_find(struct hes_progress_count *c, const struct hes_count_pattern *p,
		       const char *line, uint64_t *iterations, double *seconds)
{
	uint64_t n;

	if (hes_progress_parse(line, iterations, seconds)) {
		c->own = true;
		return true;
	}
	if (!p || !p->made || c->own || !c->left)
		return false;
	c->left--;
	if (!hes_count_pattern_find(p, line, &n))
		return false;
	if (n < c->last)
		c->before += c->last;
	c->last = n;
	*iterations = c->before + n;
	*seconds = NAN;
	return true;
}

static void count_line(struct hes_progress *p, uint64_t n, double seconds)
{
	uint64_t step = p->known && n > p->iterations ? n - p->iterations : 0;

	if (!p->known)
		p->step = n;
	else if (!p->several || step > p->step)
		p->step = step;
	p->several = p->known;
	p->known = true;
	p->iterations = n;
	p->seconds = seconds;
}

static bool take_line(struct hes_progress *p)
{
	uint64_t n;
	double seconds;
	bool found;

	p->line[p->used] = '\0';
	found = hes_progress_find(&p->count, &p->pattern, p->line, &n, &seconds);
	if (!found && p->used)
		memcpy(p->last_line, p->line, p->used + 1);
	p->used = 0;
	if (!found)
		return false;
	count_line(p, n, seconds);
	return true;
}

static bool take_text(struct hes_progress *p, const char *text, size_t n)
{
	bool found = false;

	for (size_t i = 0; i < n; i++) {
		/* Progress bars return to the beginning of the line. */
		if (text[i] == '\n' || text[i] == '\r')
			found = take_line(p) || found;
		else if (p->used < HES_PROGRESS_LINE_MAX)
			p->line[p->used++] = text[i];
	}
	p->line[p->used] = '\0';
	return found;
}

int hes_progress_read(struct hes_progress *p)
{
	char text[4096];
	bool found = false;
	ssize_t n;

	p->count.left = HES_PROGRESS_SEARCHES;
	while ((n = read(p->fd, text, sizeof(text))) > 0) {
		p->bytes += (uint64_t)n;
		found = take_text(p, text, (size_t)n) || found;
	}
	if (n < 0 && errno != EINTR && errno != EAGAIN)
		return -EIO;
	return found;
}

void hes_progress_hint(const char *pattern, uint64_t bytes, const char *last,
		       char out[HES_PROGRESS_HINT_MAX])
{
	char wanted[128] = "\"" BEFORE "N" AFTER "\"", came[400];

	if (pattern)
		snprintf(wanted, sizeof(wanted), "that --progress '%.80s' matches", pattern);
	snprintf(came, sizeof(came), "it printed nothing, where lines %s are expected", wanted);
	if (bytes)
		snprintf(came, sizeof(came),
			 "it printed %" PRIu64 " byte%s but no line %s%s%s%.60s", bytes,
			 hes_s(bytes), wanted,
			 pattern ? "" : " (without anything before it; N counts from its start)",
			 *last ? "; its last line: " : "", last);
	snprintf(out, HES_PROGRESS_HINT_MAX,
		 "%s; programs hold back what they print into a pipe or file: flush it (Python: "
		 "flush=True or PYTHONUNBUFFERED=1; C: fflush(stdout)), or use stdbuf -oL",
		 came);
}
