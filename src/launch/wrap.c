/*
 * wrap.c - the process between the runner and a job: passes its output on to its log (job_log.h),
 * writes its status to a file, and kills what it left running.
 *
 * The status file is standard input, opened by the runner, so it needs no right of the job's user;
 * a later runner reads it. Descendants of the job become children of this process when their
 * parents end. The job dies with this process, and this process with the runner. See wrap.h.
 */
#include "launch/wrap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/signals.h"
#include "launch/job_log.h"

#define CANNOT 126
#define ROUNDS                                                                                     \
	200 /* at what the job left, with pauses: what does not end by then is the runner's to see \
	       to */
#define PAUSE_NS 1000000
#define WAITS    500 /* pauses of twice as long, for what a good end leaves to end by itself */
#define LIST_MAX 4096

/* The job, in a process of its own: never returns to the caller's work. */
static void become(pid_t parent, int output, const char *command)
{
	if (output >= 0 && (dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0))
		return;
	hes_signals_as_started();
	if (!prctl(PR_SET_PDEATHSIG, SIGKILL) && getppid() == parent)
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
}

/* The file that the runner opened, out of the job's reach. @return the descriptor; -1 */
static int take_status_file(void)
{
	int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1),
	    null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		close(null);
	}
	return fd;
}

/* The status, and when: microseconds since 1970 and since the machine's start; how many processes
 * it left, if any. Over what is reserved there, which needs no room on the disk. */
static void keep_status(int fd, int code, unsigned left)
{
	char count[16] = "";

	if (left)
		snprintf(count, sizeof(count), " %u", left);
	if (fd >= 0 && lseek(fd, 0, SEEK_SET) == 0)
		dprintf(fd, "%d %" PRId64 " %" PRId64 "%s\n", code, hes_wall_us(),
			hes_boottime_us(), count);
}

/* Send @sig to the children that can be named in a list's room; 0: only count. @return how many
 * there are */
static unsigned signal_children(int sig)
{
	char text[LIST_MAX];
	int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	unsigned count = 0;

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	for (char *at = text, *end;; at = end) {
		long pid = strtol(at, &end, 10);

		/* The last number of a full list may be cut short: the blank after it is missing.
		 */
		if (end == at || *end != ' ')
			return count;
		if (sig)
			kill((pid_t)pid, sig);
		count++;
	}
}

static void collect_ended(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* Helpers of a job that ended well often end a moment later; some print first. @return how many do
 * not */
static unsigned wait_for_left(struct job_log *log)
{
	const struct timespec pause = { .tv_nsec = 2 * PAUSE_NS };
	unsigned left;

	collect_ended();
	left = signal_children(0);
	for (int i = 0; i < WAITS && left; i++) {
		nanosleep(&pause, NULL);
		job_log_pass_all(log);
		collect_ended();
		left = signal_children(0);
	}
	return left;
}

/* A chain of processes that start one another and end is killed link by link until a link is hit
 * before it starts the next. */
static void end_left(void)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	for (int i = 0; i < ROUNDS && signal_children(SIGKILL); i++) {
		collect_ended();
		if (i % 2)
			nanosleep(&pause, NULL);
	}
}

/* Pass output on until the job ends. Others' ends are of processes that it left while it runs.
 * @return its status; -1 */
static int wait_for_job(pid_t pid, int signals, struct job_log *log)
{
	struct signalfd_siginfo info;
	struct pollfd fds[] = { { .fd = signals, .events = POLLIN }, { .events = POLLIN } };
	int status = 0;
	pid_t ended;

	for (;;) {
		fds[1].fd = log->from;
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return -1;
		if (fds[1].revents)
			job_log_pass(log);
		if (!fds[0].revents)
			continue;
		while (read(signals, &info, sizeof(info)) > 0)
			;
		while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
			if (ended == pid)
				return status;
		if (ended < 0 && errno != EINTR)
			return -1;
	}
}

int hes_launch_wrap(const char *command, const char *pattern, uint64_t log_max)
{
	static struct job_log log = { .from = -1 };
	pid_t self = getpid(), pid;
	int status, code, file = take_status_file(), output, signals;
	unsigned left;
	sigset_t all;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* What the job's process group is sent is for the job. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigemptyset(&all);
	sigaddset(&all, SIGCHLD);
	signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	output = job_log_open(&log, STDOUT_FILENO, log_max, pattern);
	pid = signals < 0 ? -1 : fork();
	if (pid == 0) {
		become(self, output, command);
		_exit(CANNOT);
	}
	if (output >= 0)
		close(output);
	status = pid < 0 ? -1 : wait_for_job(pid, signals, &log);
	if (status < 0)
		return CANNOT;
	code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	keep_status(file, code, 0);
	left = code ? 0 : wait_for_left(&log);
	if (left)
		keep_status(file, code, left);
	end_left();
	job_log_finish(&log);
	return code;
}
