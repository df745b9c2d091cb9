/*
 * cgroup.c - make, list, kill and remove cgroups of jobs; see cgroup.h.
 */
#include "launch/cgroup.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "launch/undo_check.h"

#ifndef CGROUP2_SUPER_MAGIC
#define CGROUP2_SUPER_MAGIC 0x63677270
#endif

#define PIDS_MAX "16384"
#define DEPTH    16  /* most levels of cgroups that a job makes below its own */
#define LOOKS    20  /* at a cgroup that must become empty, ... */
#define LOOK_MS  500 /* ... at most this far apart */

/* The name of our own cgroup. @return false: none of version 2 */
static bool own_name(char out[HES_CGROUP_MAX])
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	bool found = false;

	while (f && !found && fgets(out, HES_CGROUP_MAX, f))
		found = strncmp(out, "0::/", 4) == 0;
	if (f)
		fclose(f);
	if (found)
		memmove(out, out + 3, strcspn(out + 3, "\n") + 1);
	out[found ? strcspn(out, "\n") : 0] = '\0';
	return found;
}

/* A mount of cgroups of version 2 that shows the cgroup @path; it may show only a part. */
static bool mount_shows(const char *line, const char *path, char out[HES_CGROUP_MAX])
{
	char root[HES_CGROUP_MAX], at[HES_CGROUP_MAX];
	size_t n;

	if (!strstr(line, " - cgroup2 ") || sscanf(line, "%*d %*d %*s %511s %511s", root, at) != 2)
		return false;
	n = strcmp(root, "/") ? strlen(root) : 0;
	if (strncmp(path, root, n) != 0)
		return false;
	/* The root cgroup is "/": leave no "/" at the end. */
	n += strcmp(path + n, "/") ? 0 : 1;
	return snprintf(out, HES_CGROUP_MAX, "%.255s%.255s", at, path + n) < HES_CGROUP_MAX;
}

/* The folder of our own cgroup. @return false: no cgroup file system of version 2 */
static bool own_folder(char out[HES_CGROUP_MAX])
{
	char line[2048], own[HES_CGROUP_MAX];
	bool found = false;
	FILE *f;

	if (!own_name(own))
		return false;
	f = fopen("/proc/self/mountinfo", "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = mount_shows(line, own, out);
	if (f)
		fclose(f);
	return found;
}

void hes_cgroup_own(char out[HES_CGROUP_MAX])
{
	if (!own_folder(out))
		out[0] = '\0';
}

/* @return the number behind @name in a file of a cgroup, or alone where @name is ""; NaN: none */
static double read_number(const char *folder, const char *file, const char *name)
{
	char path[HES_CGROUP_MAX + 32], line[128];
	double value = NAN;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	f = fopen(path, "re");
	while (f && isnan(value) && fgets(line, sizeof(line), f)) {
		const size_t n = strlen(name);

		if (strncmp(line, name, n) == 0 && isdigit((unsigned char)line[n]))
			value = strtod(line + n, NULL);
	}
	if (f)
		fclose(f);
	return value;
}

bool hes_cgroup_has_memory(const char *folder, double part)
{
	char at[HES_CGROUP_MAX];

	for (snprintf(at, sizeof(at), "%s", folder); *at; *strrchr(at, '/') = '\0') {
		const double max = read_number(at, "memory.max", ""),
			     used = read_number(at, "memory.current", ""),
			     cached = read_number(at, "memory.stat", "active_file ") +
				      read_number(at, "memory.stat", "inactive_file ");

		if (max - (used - (isnan(cached) ? 0 : cached)) < part * max)
			return false;
	}
	return true;
}

/*
 * Open a job's cgroup: check its name, its file system and that the path has no links.
 * @return -1: not a job's cgroup, or gone
 */
static int open_jobs(const char *folder)
{
	char link[48], path[HES_CGROUP_MAX];
	struct statfs fs;
	ssize_t n;
	int fd = hes_cgroup_is_named(folder, NULL)
			 ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
			 : -1;

	if (fd < 0)
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	if (!fstatfs(fd, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC && strcmp(path, folder) == 0)
		return fd;
	close(fd);
	return -1;
}

static int write_to(int folder, const char *file, const char *text)
{
	int fd = openat(folder, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	int rc;

	if (fd < 0)
		return -errno;
	rc = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return rc;
}

void hes_cgroup_make(const char *name, pid_t pid, char out[HES_CGROUP_MAX])
{
	char own[HES_CGROUP_MAX], number[16];
	int fd;

	out[0] = '\0';
	if (!own_folder(own) ||
	    snprintf(out, HES_CGROUP_MAX, "%s/heshare-%d-%s", own, (int)getpid(), name) >=
		    HES_CGROUP_MAX ||
	    mkdir(out, 0755)) {
		out[0] = '\0';
		return;
	}
	snprintf(number, sizeof(number), "%d", (int)pid);
	/* A cgroup without cgroup.kill is of no use. */
	fd = open_jobs(out);
	/* Stops fork bombs, where we may use the controller. */
	if (fd >= 0)
		write_to(fd, "pids.max", PIDS_MAX);
	if (fd >= 0 && !write_to(fd, "cgroup.kill", "1") && !write_to(fd, "cgroup.procs", number)) {
		close(fd);
		return;
	}
	if (fd >= 0)
		close(fd);
	rmdir(out);
	out[0] = '\0';
}

void hes_cgroup_sweep(void)
{
	char own[HES_CGROUP_MAX];
	DIR *d = own_folder(own) ? opendir(own) : NULL;
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		int maker, at = 0;

		/* The kernel refuses to remove a cgroup with processes. */
		if (sscanf(e->d_name, "heshare-%d-%*16[0-9a-f]%n", &maker, &at) == 1 && at &&
		    !e->d_name[at] && maker > 0 && kill(maker, 0) && errno == ESRCH)
			unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
	}
	if (d)
		closedir(d);
}

/* Append the processes of the cgroup @folder to @pids. @return how many there are now; -errno */
static long list_one(int folder, pid_t **pids, long n)
{
	int fd = openat(folder, "cgroup.procs", O_RDONLY | O_CLOEXEC | O_NOFOLLOW), pid;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f) {
		if (fd >= 0)
			close(fd);
		return -errno;
	}
	while (fscanf(f, "%d", &pid) == 1) {
		pid_t *more = realloc(*pids, (size_t)(n + 1) * sizeof(**pids));

		if (!more) {
			fclose(f);
			return -ENOMEM;
		}
		*pids = more;
		more[n++] = pid;
	}
	fclose(f);
	return n;
}

/* As list_one, with the cgroups below. */
static long list_all(int folder, pid_t **pids, long n, int depth)
{
	int again = fcntl(folder, F_DUPFD_CLOEXEC, 0);
	DIR *d = again < 0 ? NULL : fdopendir(again);
	const struct dirent *e;

	n = list_one(folder, pids, n);
	while (d && n >= 0 && (e = readdir(d))) {
		int below;

		if (e->d_type != DT_DIR || strcmp(e->d_name, ".") == 0 ||
		    strcmp(e->d_name, "..") == 0)
			continue;
		below = depth ? openat(folder, e->d_name,
				       O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
			      : -1;
		if (below >= 0)
			n = list_all(below, pids, n, depth - 1);
		if (below >= 0)
			close(below);
	}
	if (d)
		closedir(d);
	else if (again >= 0)
		close(again);
	return n;
}

long hes_cgroup_list(const char *folder, pid_t **out)
{
	int fd = open_jobs(folder);
	pid_t *pids = NULL;
	long n;

	if (fd < 0)
		return -ENOENT;
	n = list_all(fd, &pids, 0, DEPTH);
	close(fd);
	if (n < 0)
		free(pids);
	else
		*out = pids;
	return n;
}

/* Write "1" into a file of a cgroup that has only processes of its job. @return 0; -ESRCH it is
 * empty; -EPERM; -errno */
static int act_on_jobs(int folder, const char *file)
{
	struct hes_undo_facts facts;
	pid_t *pids = NULL;
	long n;
	int rc;

	hes_undo_facts_get(&facts, -1);
	n = list_all(folder, &pids, 0, DEPTH);
	if (n <= 0)
		rc = n ? (int)n : -ESRCH;
	else if (!hes_cgroup_may_be_killed(pids, (size_t)n, &facts))
		rc = -EPERM;
	else
		rc = write_to(folder, file, "1");
	free(pids);
	return rc;
}

int hes_cgroup_kill(const char *folder)
{
	int fd = open_jobs(folder), rc;

	if (fd < 0)
		return 0;
	rc = act_on_jobs(fd, "cgroup.kill");
	close(fd);
	return rc == -EPERM ? rc : 0;
}

static void remove_below(const char *folder, int depth)
{
	DIR *d = depth ? opendir(folder) : NULL;
	char path[HES_CGROUP_MAX + 256];
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		if (e->d_type != DT_DIR || strcmp(e->d_name, ".") == 0 ||
		    strcmp(e->d_name, "..") == 0)
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", folder, e->d_name) < (int)sizeof(path))
			remove_below(path, depth - 1);
	}
	if (d)
		closedir(d);
	rmdir(folder);
}

/* Wait while the events of a cgroup have @state. */
static void await_other(const char *folder, const char *state, int looks)
{
	char path[HES_CGROUP_MAX + 32], text[256];
	struct pollfd fd = { .events = POLLPRI };

	snprintf(path, sizeof(path), "%s/cgroup.events", folder);
	fd.fd = open(path, O_RDONLY | O_CLOEXEC);
	for (int i = 0; fd.fd >= 0 && i < looks; i++) {
		ssize_t n = pread(fd.fd, text, sizeof(text) - 1, 0);

		text[n > 0 ? n : 0] = '\0';
		if (!strstr(text, state))
			break;
		poll(&fd, 1, LOOK_MS);
	}
	if (fd.fd >= 0)
		close(fd.fd);
}

int hes_cgroup_freeze(const char *folder, bool frozen)
{
	int fd = open_jobs(folder), rc;

	if (fd < 0)
		return -ENOENT;
	rc = frozen ? act_on_jobs(fd, "cgroup.freeze") : write_to(fd, "cgroup.freeze", "0");
	close(fd);
	if (!rc && frozen)
		await_other(folder, "frozen 0", 1);
	return rc;
}

void hes_cgroup_remove(const char *folder)
{
	int fd = open_jobs(folder);

	if (fd < 0)
		return;
	close(fd);
	/* A process leaves its cgroup a moment after it has ended. */
	await_other(folder, "populated 1", LOOKS);
	remove_below(folder, DEPTH);
}
