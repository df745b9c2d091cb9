/*
 * process.c - identities of processes; see process.h. proc.c reads /proc.
 */
#include "launch/process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launch/proc.h"

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
