/*
 * cgroup.c - folders of the cgroup file system; see cgroup.h.
 */
#include "launch/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH 16      /* of cgroups that a job makes below its own */
#define LOOKS 20      /* at one that is to be removed, ... */
#define LOOK_MS 500   /* ... at most so far apart */

/* A line of @path whose beginning @is says yes to. */
static bool find_line(const char *path, bool (*is)(const char *), char *out, size_t size)
{
	FILE *f = fopen(path, "re");
	bool found = false;

	out[0] = '\0';
	while (f && !found && fgets(out, (int)size, f))
		found = is(out);
	if (f)
		fclose(f);
	out[strcspn(out, "\n")] = '\0';
	return found;
}

static bool is_version_2(const char *line)
{
	return strncmp(line, "0::/", 4) == 0;
}

static bool is_mount(const char *line)
{
	return strstr(line, " - cgroup2 ") != NULL;
}

/* The folder of our own cgroup. @return false: there is no cgroup file system of version 2 */
static bool own_folder(char out[HES_CGROUP_MAX])
{
	char mount[2048], own[HES_CGROUP_MAX], root[HES_CGROUP_MAX], at[HES_CGROUP_MAX];
	const char *path = own + 3;
	size_t n;

	if (!find_line("/proc/self/cgroup", is_version_2, own, sizeof(own)) ||
	    !find_line("/proc/self/mountinfo", is_mount, mount, sizeof(mount)) ||
	    sscanf(mount, "%*d %*d %*s %511s %511s", root, at) != 2)
		return false;
	/* What is mounted may be a part: that below root. */
	n = strcmp(root, "/") ? strlen(root) : 0;
	if (strncmp(path, root, n) != 0)
		return false;
	return snprintf(out, HES_CGROUP_MAX, "%.255s%.255s", at, path + n) < HES_CGROUP_MAX;
}

static int write_to(const char *folder, const char *file, const char *text)
{
	char path[HES_CGROUP_MAX + 32];
	int fd, rc;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return rc;
}

void hes_cgroup_make(const char *name, pid_t pid, char out[HES_CGROUP_MAX])
{
	char own[HES_CGROUP_MAX], number[16];

	out[0] = '\0';
	if (!own_folder(own) || snprintf(out, HES_CGROUP_MAX, "%s/heshare-%d-%s", own, (int)getpid(), name) >= HES_CGROUP_MAX ||
	    mkdir(out, 0755)) {
		out[0] = '\0';
		return;
	}
	snprintf(number, sizeof(number), "%d", (int)pid);
	/* One that cannot be killed whole is of no use. */
	if (!write_to(out, "cgroup.kill", "1") && !write_to(out, "cgroup.procs", number))
		return;
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

		/* One that has processes stays: the kernel sees to it. */
		if (sscanf(e->d_name, "heshare-%d-%*16[0-9a-f]%n", &maker, &at) == 1 && at && !e->d_name[at] && maker > 0 &&
		    kill(maker, 0) && errno == ESRCH)
			unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
	}
	if (d)
		closedir(d);
}

long hes_cgroup_list(const char *folder, pid_t **out)
{
	char path[HES_CGROUP_MAX + 32];
	pid_t *pids = NULL;
	long n = 0, room = 0;
	FILE *f;
	int pid;

	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (fscanf(f, "%d", &pid) == 1) {
		if (n == room) {
			pid_t *more = realloc(pids, (size_t)(room = room ? 2 * room : 16) * sizeof(*pids));

			if (!more)
				break;
			pids = more;
		}
		pids[n++] = pid;
	}
	fclose(f);
	*out = pids;
	return n;
}

void hes_cgroup_kill(const char *folder)
{
	if (*folder)
		write_to(folder, "cgroup.kill", "1");
}

bool hes_cgroup_empty(const char *folder)
{
	char path[HES_CGROUP_MAX + 32], text[256] = "";
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.events", folder);
	fd = *folder ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	return n > 0 && strstr(text, "populated 0");
}

static void remove_below(const char *folder, int depth)
{
	DIR *d = depth ? opendir(folder) : NULL;
	char path[HES_CGROUP_MAX + 256];
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		if (e->d_type != DT_DIR || strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", folder, e->d_name) < (int)sizeof(path))
			remove_below(path, depth - 1);
	}
	if (d)
		closedir(d);
	rmdir(folder);
}

/* A process that has ended leaves its cgroup a moment later. */
static void await_empty(const char *folder)
{
	char path[HES_CGROUP_MAX + 32], text[256];
	struct pollfd fd = { .events = POLLPRI };

	snprintf(path, sizeof(path), "%s/cgroup.events", folder);
	fd.fd = open(path, O_RDONLY | O_CLOEXEC);
	for (int i = 0; fd.fd >= 0 && i < LOOKS; i++) {
		ssize_t n = pread(fd.fd, text, sizeof(text) - 1, 0);

		text[n > 0 ? n : 0] = '\0';
		if (!strstr(text, "populated 1"))
			break;
		poll(&fd, 1, LOOK_MS);
	}
	if (fd.fd >= 0)
		close(fd.fd);
}

void hes_cgroup_remove(const char *folder)
{
	if (!*folder)
		return;
	await_empty(folder);
	remove_below(folder, DEPTH);
}
