/*
 * file.c - write files atomically, read whole files; see file.h.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static void forget(struct hes_file *out)
{
	free(out->path);
	free(out->tmp);
	*out = (struct hes_file){ 0 };
}

/*
 * A device or a pipe is written to in place: to rename over it would put a
 * plain file where /dev/null was. A link stays, and what it leads to is written.
 */
static int name_file(struct hes_file *out, const char *path, struct stat *st)
{
	*st = (struct stat){ 0 };
	if (stat(path, st)) {
		if (errno != ENOENT)
			return -errno;
		out->path = strdup(path);
	} else if (S_ISDIR(st->st_mode)) {
		return -EISDIR;
	} else if (!S_ISREG(st->st_mode)) {
		out->in_place = true;
		out->path = strdup(path);
	} else {
		out->path = realpath(path, NULL);
	}
	return out->path ? 0 : -errno;
}

#define MOST_NAMES 1000 /* that are tried for one file */

/* How much of a path names its folder, the last slash included. */
static int folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (int)(slash - path) + 1 : 0;
}

/*
 * A file in the folder of @path that nobody sees until it gets a name, and that is gone with its
 * process.
 * @return -1 where there is no such thing: no support of the file system, no /proc to name it by
 */
static int open_nameless(const char *path)
{
	const int length = folder_of(path);
	char *folder;
	int fd;

	if (access("/proc/self/fd", X_OK))
		return -1;
	folder = length ? strndup(path, (size_t)length) : strdup(".");
	fd = folder ? open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666) : -1;
	free(folder);
	return fd;
}

/* A name in the file's folder, the i-th of this process. @return NULL out of memory */
static char *name_in_folder(const struct hes_file *out, unsigned i)
{
	char *name;

	return asprintf(&name, "%.*s.heshare-%d-%u", folder_of(out->path), out->path, (int)getpid(),
			i) < 0
		       ? NULL
		       : name;
}

/* A file of another name in the same folder. */
static int open_in_folder(struct hes_file *out)
{
	int fd = -1;

	errno = EEXIST;
	for (unsigned i = 0; i < MOST_NAMES && fd < 0 && errno == EEXIST; i++) {
		free(out->tmp);
		out->tmp = name_in_folder(out, i);
		if (!out->tmp)
			return -1;
		fd = open(out->tmp, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
	}
	return fd;
}

/*
 * The new file has mode, owner and group of the one that it replaces, as far as this user may give
 * them away. A program with the rights of its owner becomes a plain one, as it does when it is
 * written to.
 */
static int take_after(int fd, const struct stat *old)
{
	struct stat st;

	if (fstat(fd, &st))
		return -1;
	if ((st.st_uid != old->st_uid || st.st_gid != old->st_gid) &&
	    fchown(fd, old->st_uid, old->st_gid) && errno != EPERM && errno != EINVAL)
		return -1;
	return fchmod(fd, old->st_mode & 0777);
}

/* @old: the plain file that is to be replaced; st_nlink 0: none */
static int open_output(struct hes_file *out, const struct stat *old)
{
	int code, fd = out->in_place ? open(out->path, O_WRONLY | O_CLOEXEC)
				     : open_nameless(out->path);

	if (fd < 0 && !out->in_place)
		fd = open_in_folder(out);
	if (fd >= 0 && (out->in_place || !old->st_nlink || !take_after(fd, old)))
		out->f = fdopen(fd, "w");
	if (out->f)
		return 0;
	code = -errno;
	if (fd >= 0) {
		close(fd);
		if (out->tmp)
			unlink(out->tmp);
	}
	return code;
}

/* @param rc  of the function that set out->path and @old */
static int finish_create(struct hes_file *out, const char *path, const struct stat *old, int rc,
			 struct hes_err *err)
{
	if (!rc)
		rc = open_output(out, old);
	if (rc) {
		forget(out);
		return hes_fail(err, rc, "%s: cannot create: %s", path, strerror(-rc));
	}
	return 0;
}

int hes_file_create(struct hes_file *out, const char *path, struct hes_err *err)
{
	struct stat old;
	int rc;

	*out = (struct hes_file){ 0 };
	if (strcmp(path, "-") == 0) {
		out->f = stdout;
		return 0;
	}
	rc = name_file(out, path, &old);
	return finish_create(out, path, &old, rc, err);
}

int hes_file_check_output(const char *path, struct hes_err *err)
{
	struct hes_file file;
	struct stat st;
	int rc;

	if (strcmp(path, "-") == 0 ||
	    (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return 0;
	rc = hes_file_create(&file, path, err);
	if (!rc)
		hes_file_abort(&file);
	return rc;
}

int hes_file_create_own(struct hes_file *out, const char *path, struct hes_err *err)
{
	struct stat old;

	*out = (struct hes_file){ .path = strdup(path) };
	if (lstat(path, &old) || !S_ISREG(old.st_mode))
		old = (struct stat){ 0 };
	return finish_create(out, path, &old, out->path ? 0 : -ENOMEM, err);
}

/* A file cannot be linked over another: it first gets another name in the folder, then it is
 * renamed. */
static int give_name(struct hes_file *out)
{
	char self[40];
	int code = -EEXIST;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fileno(out->f));
	for (unsigned i = 0; i < MOST_NAMES && code == -EEXIST; i++) {
		char *tmp = name_in_folder(out, i);

		if (!tmp)
			return -ENOMEM;
		code = linkat(AT_FDCWD, self, AT_FDCWD, tmp, AT_SYMLINK_FOLLOW) ? -errno : 0;
		if (code)
			free(tmp);
		else
			out->tmp = tmp;
	}
	return code;
}

static int commit_stdout(struct hes_file *out, struct hes_err *err)
{
	int code = 0;

	errno = 0;
	if (fflush(out->f) || ferror(out->f))
		code = errno ? -errno : -EIO;
	forget(out);
	return code ? hes_fail(err, code, "standard output: cannot write: %s", strerror(-code)) : 0;
}

int hes_file_commit(struct hes_file *out, struct hes_err *err)
{
	int code = 0;

	if (!out->path)
		return commit_stdout(out, err);
	errno = 0;
	if (fflush(out->f) || ferror(out->f) || (!out->in_place && fsync(fileno(out->f))))
		code = errno ? -errno : -EIO;
	if (!code && !out->in_place && !out->tmp)
		code = give_name(out);
	if (fclose(out->f) && !code)
		code = -errno;
	out->f = NULL;
	if (!code && out->tmp && rename(out->tmp, out->path))
		code = -errno;
	if (code) {
		if (out->tmp)
			unlink(out->tmp);
		hes_fail(err, code, "%s: cannot write: %s", out->path, strerror(-code));
	}
	forget(out);
	return code;
}

void hes_file_abort(struct hes_file *out)
{
	if (out->path && out->f) {
		fclose(out->f);
		if (out->tmp)
			unlink(out->tmp);
	}
	forget(out);
}

int hes_file_check_plain(const char *path, struct hes_err *err)
{
	struct stat st;

	if (stat(path, &st))
		return hes_fail(err, -errno, "%s: %s", path, strerror(errno));
	return S_ISREG(st.st_mode)
		       ? 0
		       : hes_fail(err, -EINVAL, "%s: it is not a plain file; remove it", path);
}

#define READ_ONCE ((size_t)1 << 24) /* zlib counts in int */

static int too_large(const char *path, size_t max, struct hes_err *err)
{
	if (max < (size_t)1 << 20)
		return hes_fail(err, -EFBIG,
				"%s: larger than %zu bytes, unpacked; no file of this kind is",
				path, max);
	return hes_fail(err, -EFBIG, "%s: larger than %zu MiB, unpacked; no file of this kind is",
			path, max >> 20);
}

static int read_failed(gzFile gz, const char *path, struct hes_err *err)
{
	int zerr;
	const char *why = gzerror(gz, &zerr);

	return hes_fail(err, -EIO, "%s: %s", path, zerr == Z_ERRNO ? strerror(errno) : why);
}

/* Room for @n bytes and what comes next, never for more than @max bytes, one more that shows that
 * there are more, and a NUL. */
static char *make_room(char *buf, size_t n, size_t *cap, size_t max)
{
	size_t wanted = *cap ? *cap * 2 : 1 << 16;
	char *more;

	if (*cap - n >= 2)
		return buf;
	*cap = wanted > max + 2 ? max + 2 : wanted;
	more = realloc(buf, *cap);
	if (!more)
		free(buf);
	return more;
}

static int read_all(gzFile gz, const char *path, size_t max, char **out, size_t *len,
		    struct hes_err *err)
{
	size_t cap = 0, n = 0;
	char *buf = NULL;
	int got;

	do {
		buf = make_room(buf, n, &cap, max);
		if (!buf)
			return hes_fail(err, -ENOMEM, "%s: out of memory", path);
		got = gzread(gz, buf + n,
			     (unsigned)(cap - n - 1 < READ_ONCE ? cap - n - 1 : READ_ONCE));
		n += got > 0 ? (size_t)got : 0;
	} while (got > 0 && n <= max);
	if (got < 0 || n > max) {
		free(buf);
		return got < 0 ? read_failed(gz, path, err) : too_large(path, max, err);
	}
	buf[n] = '\0';
	*out = buf;
	*len = n;
	return 0;
}

/* A packed file is hardly larger than what it holds. */
static bool too_large_on_disk(const char *path, size_t max)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_size > (uint64_t)max + max / 100 + 4096;
}

int hes_file_slurp(const char *path, size_t max_bytes, char **out, size_t *out_len,
		   struct hes_err *err)
{
	gzFile gz;
	char *text = NULL;
	int rc;

	if (too_large_on_disk(path, max_bytes))
		return too_large(path, max_bytes, err);
	errno = ENOMEM; /* gzopen leaves it alone when zlib itself runs out */
	gz = gzopen(path, "re");
	if (!gz)
		return hes_fail(err, -errno, "%s: %s", path, strerror(errno));
	rc = read_all(gz, path, max_bytes, &text, out_len, err);
	if (gzclose(gz) == Z_BUF_ERROR && !rc) {
		free(text);
		return hes_fail(err, -EIO, "%s: truncated gzip file", path);
	}
	if (!rc)
		*out = text;
	return rc;
}

int hes_folder_create(const char *path, struct hes_err *err)
{
	struct stat st;

	if (mkdir(path, 0777) == 0 ||
	    (errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode)))
		return 0;
	return hes_fail(err, -errno, "%s: cannot make this folder: %s", path,
			errno == EEXIST ? "a file of that name is there" : strerror(errno));
}

int hes_user_file(const char *xdg, const char *home, const char *below, const char *name,
		  char **out)
{
	char *path;
	int len;

	if (xdg && xdg[0] == '/')
		len = asprintf(&path, "%s/heshare/%s", xdg, name);
	else if (home && home[0] == '/')
		len = asprintf(&path, "%s/%s/heshare/%s", home, below, name);
	else
		return -ENOENT;
	if (len < 0)
		return -ENOMEM;
	*out = path;
	return 0;
}
