/*
 * process.c - read /proc, and tell processes apart; see process.h.
 */
#include "launch/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STAT_MAX       1024
#define FORKED_NO_EXEC 0x40u /* PF_FORKNOEXEC of the kernel */

/* @return the number of bytes before the closing NUL; -1 */
static ssize_t read_file(pid_t pid, const char *name, char *out, size_t size)
{
	char path[48];
	size_t at = 0;
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while (at + 1 < size && (n = read(fd, out + at, size - 1 - at)) > 0)
		at += (size_t)n;
	close(fd);
	out[at] = '\0';
	return n < 0 ? -1 : (ssize_t)at;
}

int hes_proc_read(pid_t pid, struct hes_proc *out)
{
	struct hes_proc s = { .id = { .pid = pid } };
	char text[STAT_MAX], state;
	const char *name, *end;
	unsigned long long started;
	int parent, session;
	unsigned flags;

	if (read_file(pid, "stat", text, sizeof(text)) <= 0)
		return -ESRCH;
	/* A name may contain anything, also ")". */
	name = strchr(text, '(');
	end = strrchr(text, ')');
	if (!name || !end || end < name ||
	    sscanf(end + 1,
		   " %c %d %*d %d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		   &state, &parent, &session, &flags, &started) != 5)
		return -ESRCH;
	snprintf(s.name, sizeof(s.name), "%.*s", (int)(end - name - 1), name + 1);
	s.id.started = started;
	s.parent = parent;
	s.session = session;
	s.ended = state == 'Z' || state == 'X';
	s.stopped = state == 'T' || state == 't';
	s.forked = flags & FORKED_NO_EXEC;
	*out = s;
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	const struct hes_proc *x = a, *y = b;

	return (x->id.pid > y->id.pid) - (x->id.pid < y->id.pid);
}

long hes_proc_all(struct hes_proc **out)
{
	DIR *proc = opendir("/proc");
	struct hes_proc *all = NULL;
	size_t n = 0, room = 0;
	const struct dirent *e;

	if (!proc)
		return -errno;
	while ((e = readdir(proc))) {
		char *end;
		long pid = strtol(e->d_name, &end, 10);

		if (pid <= 0 || *end)
			continue;
		if (n == room) {
			struct hes_proc *more =
				realloc(all, (room = room ? 2 * room : 256) * sizeof(*all));

			if (!more) {
				closedir(proc);
				free(all);
				return -ENOMEM;
			}
			all = more;
		}
		n += !hes_proc_read((pid_t)pid, &all[n]);
	}
	closedir(proc);
	if (n)
		qsort(all, n, sizeof(*all), by_pid);
	*out = all;
	return (long)n;
}

const char *hes_proc_variable(pid_t pid, const char *name, char *room)
{
	ssize_t n = read_file(pid, "environ", room, HES_ENVIRONMENT_MAX);
	size_t length = strlen(name);

	for (const char *at = room; n > 0 && at < room + n; at += strlen(at) + 1)
		if (strncmp(at, name, length) == 0 && at[length] == '=')
			return at + length + 1;
	return NULL;
}

/* --- identities --- */

int hes_process_of(pid_t pid, struct hes_process *out)
{
	struct hes_proc s;

	if (hes_proc_read(pid, &s))
		return -ESRCH;
	*out = s.id;
	return 0;
}

bool hes_process_runs(const struct hes_process *p)
{
	struct hes_proc s;

	return p->pid > 0 && !hes_proc_read(p->pid, &s) && s.id.started == p->started && !s.ended;
}

int hes_process_open(const struct hes_process *p)
{
	int fd = p->pid > 0 ? (int)syscall(SYS_pidfd_open, p->pid, 0) : -1;
	struct hes_proc s;

	if (fd < 0)
		return -ESRCH;
	/* The process with this pid and start time existed when the descriptor was opened: they are
	 * the same. */
	if (!hes_proc_read(p->pid, &s) && s.id.started == p->started)
		return fd;
	close(fd);
	return -ESRCH;
}

int hes_process_boot(char out[HES_BOOT_MAX], struct hes_err *err)
{
	static const char path[] = "/proc/sys/kernel/random/boot_id";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, HES_BOOT_MAX - 1);
	int rc = n > 0 ? 0
		       : hes_fail(err, -EIO, "%s: %s", path, n ? strerror(errno) : "it is empty");

	if (fd >= 0)
		close(fd);
	if (rc)
		return rc;
	out[n] = '\0';
	out[strcspn(out, " \n")] = '\0';
	return 0;
}
