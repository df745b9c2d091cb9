/*
 * progress.c - lines that tell how far a job is, among others; see progress.h.
 */
#include "launch/progress.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define BEFORE "heshare: "
#define AFTER " iterations"
#define IN " in "

int hes_progress_open(struct hes_progress *out, const struct hes_job_folder *f, const char *name, uint64_t offset,
		      struct hes_err *err)
{
	int fd = hes_job_file_read(f, name, err);

	if (fd < 0)
		return fd;
	if (offset && lseek(fd, (off_t)offset, SEEK_SET) < 0) {
		int rc = -errno;

		close(fd);
		return hes_fail(err, rc, "%s: %s", name, strerror(-rc));
	}
	*out = (struct hes_progress){ .fd = fd };
	return 0;
}

void hes_progress_close(struct hes_progress *p)
{
	if (p->fd >= 0)
		close(p->fd);
	*p = (struct hes_progress){ .fd = -1 };
}

/* The number in a line of ours, which may go on with how long it took: " in 12.5 s". */
static bool parse(const char *line, size_t n, uint64_t *out)
{
	const size_t before = strlen(BEFORE), after = strlen(AFTER), in = strlen(IN);
	size_t at = before;
	uint64_t v = 0;

	if (n <= before + after || memcmp(line, BEFORE, before) != 0)
		return false;
	for (; at < n && line[at] >= '0' && line[at] <= '9'; at++) {
		unsigned digit = (unsigned)(line[at] - '0');

		if (v > ((uint64_t)INT64_MAX - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	if (at == before || n - at < after || memcmp(line + at, AFTER, after) != 0)
		return false;
	at += after;
	if (at < n && (n - at < in || memcmp(line + at, IN, in) != 0))
		return false;
	*out = v;
	return true;
}

static bool take_line(struct hes_progress *p)
{
	uint64_t v;
	bool ours = !p->skipping && parse(p->line, p->used, &v);

	p->used = 0;
	p->skipping = false;
	if (!ours)
		return false;
	if (!p->told)
		p->first_iterations = v;
	p->iterations = v;
	p->told = true;
	return true;
}

static bool take(struct hes_progress *p, const char *text, size_t n)
{
	bool news = false;

	for (size_t i = 0; i < n; i++) {
		/* Bars of progress go back to a line's beginning. */
		if (text[i] == '\n' || text[i] == '\r')
			news = take_line(p) || news;
		else if (p->used < sizeof(p->line))
			p->line[p->used++] = text[i];
		else
			p->skipping = true;
	}
	return news;
}

int hes_progress_read(struct hes_progress *p)
{
	char text[4096];
	bool news = false;
	ssize_t n;

	while ((n = read(p->fd, text, sizeof(text))) > 0)
		news = take(p, text, (size_t)n) || news;
	if (n < 0 && errno != EINTR && errno != EAGAIN)
		return -EIO;
	return news;
}
