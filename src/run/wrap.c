/*
 * wrap.c - between the runner and a job: a process that keeps how the job ended where a later
 * runner finds it, should this one not live to see it; see heshare/run.h.
 *
 * The job dies with this process, and this process with the runner.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "heshare/run.h"

#define CANNOT 126

/* The job, in a process of its own: never returns to the caller's work. */
static void become(pid_t parent, const char *command)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (!prctl(PR_SET_PDEATHSIG, SIGKILL) && getppid() == parent)
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
}

/* The status, and when: microseconds since 1970; over what is reserved there, which needs no room on the disk. */
static void keep(const char *path, int code)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0644);
	struct timespec t;
	struct stat st;

	if (fd < 0)
		return;
	/* The job may have put a pipe there, which somebody reads. */
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &t);
	dprintf(fd, "%d %" PRId64 "\n", code, (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000);
	close(fd);
}

int hes_run_wrap(const char *status_path, const char *command)
{
	pid_t self = getpid(), pid;
	int status, code;
	sigset_t all;

	/* What the job's process group is sent is for the job. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	pid = fork();
	if (pid == 0) {
		become(self, command);
		_exit(CANNOT);
	}
	if (pid < 0)
		return CANNOT;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return CANNOT;
	code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	keep(status_path, code);
	return code;
}
