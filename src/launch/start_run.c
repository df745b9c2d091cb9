/*
 * start_run.c - the new process from the fork to the command; see start.h.
 *
 * Invariant: only system calls, no allocation and no locks, because the program may have threads.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/signals.h"
#include "launch/start.h"

#define FIRST (STDERR_FILENO + 1) /* descriptor after the standard ones */

/* By system call: the C library's functions would also change other threads. */
static int become(const struct hes_user *u)
{
	if (!u->other)
		return 0;
	if (syscall(SYS_setgroups, (size_t)u->n_groups, u->groups) ||
	    syscall(SYS_setresgid, u->gid, u->gid, u->gid) ||
	    syscall(SYS_setresuid, u->uid, u->uid, u->uid))
		return errno;
	return 0;
}

/* Keep only the standard descriptors and the socket. */
static int take_files(const struct hes_start *s, int *gate_at)
{
	int output = s->output_fd, input = s->input_fd, gate = *gate_at;

	/* First move them above the standard ones; hes_close_but() closes the originals. */
	output = fcntl(output, F_DUPFD_CLOEXEC, FIRST);
	input = fcntl(input, F_DUPFD_CLOEXEC, FIRST);
	gate = fcntl(gate, F_DUPFD_CLOEXEC, FIRST);
	if (output < 0 || input < 0 || gate < 0 || dup2(input, STDIN_FILENO) < 0 ||
	    dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)
		return errno;
	*gate_at = gate;
	return -hes_close_but(gate);
}

/* Must come last: the kernel clears this setting when the user changes. */
static int die_with(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		return errno;
	return getppid() == parent ? 0 : ESRCH;
}

static void send_step(int gate, enum hes_start_step step, int error)
{
	struct hes_start_message w = { .step = (int)step, .error = error };

	while (write(gate, &w, sizeof(w)) < 0 && errno == EINTR)
		;
}

static int prepare(const struct hes_start *s, int *gate, enum hes_start_step *step)
{
	int rc;

	*step = HES_START_PREPARE;
	setsid();
	hes_signals_as_started();
	rc = take_files(s, gate);
	if (rc)
		return rc;
	if (s->user.other)
		umask(HES_USER_UMASK);
	*step = HES_START_USER;
	rc = become(&s->user);
	if (rc)
		return rc;
	if (s->no_new_rights && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return errno;
	*step = HES_START_FOLDER;
	if (s->folder && chdir(s->folder))
		return errno;
	*step = HES_START_PREPARE;
	return die_with(s->parent);
}

void hes_start_run(const struct hes_start *s, int gate)
{
	enum hes_start_step step;
	char go;
	int rc = prepare(s, &gate, &step);
	ssize_t n;

	send_step(gate, rc ? step : HES_START_READY, rc);
	if (rc)
		_exit(127);
	while ((n = read(gate, &go, 1)) < 0 && errno == EINTR)
		;
	if (n != 1)
		_exit(127);
	execve(s->path, (char *const *)s->argv, (char *const *)s->env);
	send_step(gate, HES_START_EXEC, errno);
	_exit(127);
}
