/*
 * job_files.c - files that jobs can reach; see job_files.h.
 */
#include "launch/job_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CAREFULLY  (O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK)
#define OWNER_MODE 0644 /* 0666 and a umask of 022 */
#define TRIES      10   /* for a file that a job makes and removes again */

int hes_job_folder_open(struct hes_job_folder *out, const char *path, struct hes_err *err)
{
	struct hes_job_folder f = { .fd = open(path,
					       O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) };

	if (f.fd < 0)
		return hes_fail(err, -errno, "%s: %s", path, strerror(errno));
	if (snprintf(f.path, sizeof(f.path), "%s", path) >= (int)sizeof(f.path)) {
		close(f.fd);
		return hes_fail(err, -ENAMETOOLONG, "%.80s...: too long a name", path);
	}
	*out = f;
	return 0;
}

void hes_job_folder_close(struct hes_job_folder *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

/* --- who can replace a folder --- */

/* Whether the path leads to the open folder without links. */
static bool folder_has_name(const struct hes_job_folder *f)
{
	char link[48], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", f->fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return false;
	path[n] = '\0';
	return strcmp(path, f->path) == 0;
}

/* Check one folder of the path; @held: the folder of the files itself. */
static int folder_check_one(const struct stat *st, const char *path, bool held, struct hes_err *err)
{
	const char *wanted = "jobs of other users need a folder that only root can write and "
			     "replace, with all folders above it: "
			     "name one with --jobs, such as /var/lib/heshare/RUN";

	if (st->st_uid != 0)
		return hes_fail(err, -EPERM, "%s: user %u could replace it or what is in it; %s",
				path, (unsigned)st->st_uid, wanted);
	/* In a sticky folder others cannot rename root's files. */
	if (st->st_mode & (S_IWGRP | S_IWOTH) && (held || !(st->st_mode & S_ISVTX)))
		return hes_fail(err, -EPERM, "%s: others than root may write it; %s", path, wanted);
	return 0;
}

static int folder_check(const struct hes_job_folder *f, bool held, struct hes_err *err)
{
	char path[PATH_MAX];
	int at = fcntl(f->fd, F_DUPFD_CLOEXEC, 0), rc = 0;
	bool top = false;

	if (at < 0)
		return hes_fail(err, -errno, "%s: %s", f->path, strerror(errno));
	snprintf(path, sizeof(path), "%s", f->path);
	for (; !rc && !top; held = false) {
		char *slash = strrchr(path, '/');
		int above = openat(at, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct stat st, st_above;

		if (above < 0 || fstat(at, &st) || fstat(above, &st_above))
			rc = hes_fail(err, -errno, "%s: %s", path, strerror(errno));
		else
			rc = folder_check_one(&st, path, held, err);
		top = !rc && st.st_dev == st_above.st_dev && st.st_ino == st_above.st_ino;
		if (slash)
			slash[slash == path] = '\0';
		close(at);
		at = above;
	}
	if (at >= 0)
		close(at);
	if (!rc && !folder_has_name(f))
		rc = hes_fail(err, -EPERM,
			      "%s: it was replaced meanwhile, or its name contains a link",
			      f->path);
	return rc;
}

int hes_job_folder_check(const struct hes_job_folder *f, struct hes_err *err)
{
	return folder_check(f, true, err);
}

int hes_job_folder_check_above(const struct hes_job_folder *f, struct hes_err *err)
{
	return folder_check(f, false, err);
}

/* --- files --- */

static int fail_named(const struct hes_job_folder *f, const char *name, int rc, const char *why,
		      struct hes_err *err)
{
	return hes_fail(err, rc, "%s%s%s: %s", f ? f->path : "", f ? "/" : "", name, why);
}

/* A name without "/" that is not a link stays in the folder. */
static int open_file(const struct hes_job_folder *f, const char *name, int flags, mode_t mode)
{
	int fd;

	if (f && (strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || !*name))
		return -EINVAL;
	fd = f ? openat(f->fd, name, flags | CAREFULLY, mode) : open(name, flags | CAREFULLY, mode);
	if (fd >= 0)
		return fd;
	/* A pipe without a reader, a link, a folder, a socket. */
	return errno == ENXIO || errno == ELOOP || errno == EISDIR ? -EINVAL : -errno;
}

/* Close @fd unless it is a plain file. @return @fd; -EINVAL; -errno */
static int require_plain(int fd, struct stat *st)
{
	int rc = fstat(fd, st) ? -errno : S_ISREG(st->st_mode) ? 0 : -EINVAL;

	/* A job inherits the descriptor: clear O_NONBLOCK. */
	if (!rc && fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK))
		rc = -errno;
	if (rc)
		close(fd);
	return rc ? rc : fd;
}

static int fail_open(const struct hes_job_folder *f, const char *name, int rc, const char *instead,
		     struct hes_err *err)
{
	if (rc == -EINVAL)
		return hes_fail(err, rc, "%s%s%s: it is not a plain file%s", f ? f->path : "",
				f ? "/" : "", name, instead);
	return fail_named(f, name, rc, strerror(-rc), err);
}

int hes_job_file_read(const struct hes_job_folder *f, const char *name, struct hes_err *err)
{
	struct stat st;
	int fd = open_file(f, name, O_RDONLY, 0);

	if (fd >= 0)
		fd = require_plain(fd, &st);
	return fd < 0 ? fail_open(f, name, fd, "", err) : fd;
}

static int give_to(int fd, const struct hes_owner *owner)
{
	return owner && (fchown(fd, owner->uid, owner->gid) || fchmod(fd, OWNER_MODE)) ? -errno : 0;
}

int hes_job_file_make(const struct hes_job_folder *f, const char *name,
		      const struct hes_owner *owner, struct hes_err *err)
{
	struct stat st;
	int rc, fd = open_file(f, name, O_WRONLY | O_APPEND | O_CREAT | O_EXCL, OWNER_MODE);

	if (fd >= 0)
		fd = require_plain(fd, &st);
	if (fd < 0)
		return fail_open(f, name, fd, "", err);
	rc = give_to(fd, owner);
	if (!rc)
		return fd;
	close(fd);
	return fail_named(f, name, rc, strerror(-rc), err);
}

/* A file of ours with one name was made before its owner was known: give it to the owner. */
static int take_over(const struct hes_job_folder *f, const char *name, int fd,
		     const struct stat *st, const struct hes_owner *owner, struct hes_err *err)
{
	int rc = 0;

	if (!owner || st->st_uid == owner->uid)
		return 0;
	if (st->st_uid == geteuid() && st->st_nlink == 1)
		rc = give_to(fd, owner);
	else
		return hes_fail(err, -EPERM,
				"%s%s%s: it belongs to user %u, not to the job's; remove it",
				f ? f->path : "", f ? "/" : "", name, (unsigned)st->st_uid);
	return rc ? fail_named(f, name, rc, strerror(-rc), err) : 0;
}

int hes_job_file_append(const struct hes_job_folder *f, const char *name,
			const struct hes_owner *owner, struct hes_err *err)
{
	struct stat st;
	int fd = -ENOENT, rc;

	for (int try = 0; fd == -ENOENT && try < TRIES; try++) {
		struct hes_err lost;

		fd = hes_job_file_make(f, name, owner, &lost);
		if (fd >= 0)
			return fd;
		if (fd != -EEXIST)
			return hes_fail(err, fd, "%s", lost.msg);
		fd = open_file(f, name, O_WRONLY | O_APPEND, 0);
	}
	if (fd >= 0)
		fd = require_plain(fd, &st);
	if (fd < 0)
		return fail_open(f, name, fd, "; remove it", err);
	rc = take_over(f, name, fd, &st, owner, err);
	if (!rc)
		return fd;
	close(fd);
	return rc;
}
