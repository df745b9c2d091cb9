/*
 * descriptors.c - close inherited descriptors; see descriptors.h.
 *
 * The C library has calls for it since glibc 2.34; a portable build may run on an older one.
 */
#include "base/descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux 5.9, newer than some C libraries. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#define FIRST (STDERR_FILENO + 1)

/* @return -1: none, as "." */
static int number_of(const char *name)
{
	int n = 0;

	for (; *name >= '0' && *name <= '9'; name++)
		n = 10 * n + *name - '0';
	return *name ? -1 : n;
}

/* The kernel lists them by ascending number and goes on from the last: those that were closed leave
 * no gap. */
static int close_listed(int keep)
{
	union {
		struct dirent64 row; /* for its alignment */
		char bytes[2048];
	} list;
	int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;
	ssize_t n;

	if (dir < 0)
		return -errno;
	while ((n = getdents64(dir, list.bytes, sizeof(list.bytes))) > 0) {
		const struct dirent64 *row;

		for (ssize_t at = 0; at < n; at += row->d_reclen) {
			int fd;

			row = (const void *)(list.bytes + at);
			fd = number_of(row->d_name);
			if (fd >= FIRST && fd != keep && fd != dir)
				close(fd);
		}
	}
	rc = n < 0 ? -errno : 0;
	close(dir);
	return rc;
}

static bool close_span(int first, unsigned last)
{
	return (unsigned)first > last || !syscall(SYS_close_range, first, last, 0);
}

int hes_close_but(int keep)
{
	bool closed = keep < FIRST
			      ? close_span(FIRST, ~0u)
			      : close_span(FIRST, (unsigned)keep - 1) && close_span(keep + 1, ~0u);

	/* Older kernels do not know the call, and sandboxes that do not know it refuse it in ways
	 * of their own. */
	return closed ? 0 : close_listed(keep);
}
