/*
 * run_files.c - files of jobs in the folder of a run; see run_files.h.
 */
#include "run/run_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/wrap.h"

/* A file name: bytes that could lead to another folder become %XX, and so does the first byte of
 * "guard", which names a log. */
static void name_put(char *out, size_t size, const char *before, const char *job, const char *after)
{
	size_t n = (size_t)snprintf(out, size, "%s", before);

	for (const char *c = job; *c && n + 4 < size; c++) {
		if (*c == '/' || *c == '%' ||
		    (c == job && (*c == '.' || strcmp(job, "guard") == 0)))
			n += (size_t)snprintf(out + n, size - n, "%%%02X", (unsigned char)*c);
		else
			out[n++] = *c;
	}
	snprintf(out + n, size - n, "%s", after);
}

void run_output_name(const char *job, char out[RUN_FILE_NAME_MAX])
{
	name_put(out, RUN_FILE_NAME_MAX, "", job, ".log");
}

static void attempt_name(const char *job, uint32_t number, const char *what,
			 char out[RUN_FILE_NAME_MAX])
{
	char after[32];

	snprintf(after, sizeof(after), ".%" PRIu32 ".%s", number, what);
	name_put(out, RUN_FILE_NAME_MAX, ".", job, after);
}

/* @return why a file cannot be made */
static int file_error(const struct hes_job_folder *folder, int rc, struct hes_err *err)
{
	return rc == -ENOENT ? hes_fail(err, -ESTALE,
					"%s: the folder of the run was removed while it was in use",
					folder->path)
			     : rc;
}

int run_output_open(const struct hes_job_folder *folder, const char *job,
		    const struct hes_owner *owner, uint64_t *from, struct hes_err *err)
{
	char name[RUN_FILE_NAME_MAX];
	struct stat st;
	int fd;

	run_output_name(job, name);
	fd = hes_job_file_append(folder, name, owner, err);
	if (fd < 0)
		return file_error(folder, fd, err);
	/* Where this cannot be written, only the excerpt of a report is longer. */
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0)
		dprintf(fd, "\n%s\n", RUN_OUTPUT_NEXT);
	*from = fstat(fd, &st) ? 0 : (uint64_t)st.st_size;
	return fd;
}

int run_output_last(const struct hes_job_folder *folder, const char *job, uint64_t from, char *text,
		    size_t size, struct hes_err *err)
{
	const off_t most = (off_t)size - 1;
	char name[RUN_FILE_NAME_MAX];
	ssize_t n = 0;
	off_t end, at;
	int fd;

	text[0] = '\0';
	run_output_name(job, name);
	fd = hes_job_file_read(folder, name, err);
	if (fd < 0)
		return fd;
	end = lseek(fd, 0, SEEK_END);
	at = end > most ? end - most : 0;
	if (end >= 0)
		n = pread(fd, text, (size_t)most, at > (off_t)from ? at : (off_t)from);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return 0;
}

int run_status_reserve(const struct hes_job_folder *folder, const char *job, uint32_t number,
		       struct hes_err *err)
{
	char name[RUN_FILE_NAME_MAX], blank[HES_STATUS_BYTES];
	int fd;

	attempt_name(job, number, "status", name);
	unlinkat(folder->fd, name, 0);
	fd = hes_job_file_make(folder, name, NULL, err);
	if (fd < 0)
		return file_error(folder, fd, err);
	memset(blank, ' ', sizeof(blank));
	/* Not O_APPEND: the status goes over the blanks. */
	fcntl(fd, F_SETFL, 0);
	if (pwrite(fd, blank, sizeof(blank), 0) == (ssize_t)sizeof(blank))
		return fd;
	close(fd);
	return hes_fail(err, -ENOSPC, "%s/%s: %s", folder->path, name, strerror(ENOSPC));
}

int run_status_read(const struct hes_job_folder *folder, const char *job, uint32_t number,
		    struct run_status *out)
{
	char name[RUN_FILE_NAME_MAX], text[HES_STATUS_BYTES + 1], *end;
	struct run_status s = { 0 };
	unsigned code;
	int fd, used = 0, all = 0;
	ssize_t n;

	attempt_name(job, number, "status", name);
	fd = hes_job_file_read(folder, name, NULL);
	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	end = strchr(text, '\n');
	if (!end)
		return -1;
	*end = '\0';
	/* The number of processes that it left comes last, if there are any. */
	if (sscanf(text, "%3u %18" SCNd64 " %18" SCNd64 "%n %9u%n", &code, &s.wall_us, &s.boot_us,
		   &used, &s.left, &all) < 3 ||
	    text[all ? all : used] || code > 255 || s.wall_us < 0 || s.boot_us < 0)
		return -1;
	s.code = (int)code;
	*out = s;
	return 0;
}

void run_status_remove(const struct hes_job_folder *folder, const char *job, uint32_t number)
{
	char name[RUN_FILE_NAME_MAX];

	attempt_name(job, number, "status", name);
	unlinkat(folder->fd, name, 0);
	attempt_name(job, number, "launches", name);
	unlinkat(folder->fd, name, 0);
}

int run_launches_make(const struct hes_job_folder *folder, const char *job, uint32_t number,
		      const struct hes_owner *owner, char path[PATH_MAX])
{
	const uint64_t none = 0;
	char name[RUN_FILE_NAME_MAX];
	int fd, rc;

	attempt_name(job, number, "launches", name);
	if (snprintf(path, PATH_MAX, "%s/%s", folder->path, name) >= PATH_MAX)
		return -ENAMETOOLONG;
	unlinkat(folder->fd, name, 0);
	fd = hes_job_file_make(folder, name, owner, NULL);
	if (fd < 0)
		return fd;
	/* So that a job that maps it does not need room on a full disk. */
	rc = write(fd, &none, sizeof(none)) == sizeof(none) ? 0 : -EIO;
	close(fd);
	return rc ? rc : hes_job_file_read(folder, name, NULL);
}

bool run_launches_read(int fd, uint64_t *out)
{
	uint64_t n;

	if (fd < 0 || pread(fd, &n, sizeof(n), 0) != sizeof(n))
		return false;
	*out = n;
	return true;
}
