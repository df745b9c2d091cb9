/*
 * fuzz_file.c - the file lives in memory; only its name is on disk. See fuzz_file.h.
 */
#include "fuzz_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int fd = -1;
static char dir[] = "/tmp/hes-fuzz-XXXXXX";
static char path[64];

static void clean_up(void)
{
	unlink(path);
	rmdir(dir);
}

/* A symbolic link in a directory of our own gives the file its suffix. */
static void set_up(const char *suffix)
{
	char target[32];

	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || !mkdtemp(dir))
		abort();
	snprintf(target, sizeof(target), "/proc/self/fd/%d", fd);
	snprintf(path, sizeof(path), "%s/f%s", dir, suffix);
	if (symlink(target, path))
		abort();
	atexit(clean_up);
}

const char *fuzz_file(const uint8_t *data, size_t len, const char *suffix)
{
	if (fd < 0)
		set_up(suffix);
	if (ftruncate(fd, 0) || pwrite(fd, data, len, 0) != (ssize_t)len)
		abort();
	return path;
}
