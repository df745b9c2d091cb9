/*
 * Signals: those of the start are given on, those that are taken reach their thread.
 */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/signals.h"
#include "gpu/spawn.h"
#include "launch/launch.h"
#include "unit_test.h"

static void *sleep_on(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

/* What was started with SIGTERM blocked and SIGHUP and SIGCHLD ignored. @return what is wrong; 0 */
static int check_taken(void)
{
	static const int list[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD, 0 };
	const struct timespec limit = { .tv_sec = 60 };
	struct hes_signals taken;
	siginfo_t info;
	pthread_t driver;
	pid_t child;

	/* As of a driver that makes its thread before we take anything. */
	if (pthread_create(&driver, NULL, sleep_on, NULL))
		return 1;
	hes_signals_take(&taken, list);
	kill(getpid(), SIGINT);
	if (sigtimedwait(&taken.set, &info, &limit) != SIGINT || hes_signals_of_terminal(&info))
		return 2;
	if (sigismember(&taken.set, SIGHUP))
		return 3;
	kill(getpid(), SIGHUP);
	child = fork();
	if (!child)
		_exit(0);
	if (sigtimedwait(&taken.set, NULL, &limit) != SIGCHLD || waitpid(child, NULL, 0) != child)
		return 4;
	hes_signals_leave(&taken);
	if (pthread_sigmask(SIG_BLOCK, NULL, &taken.set) || sigismember(&taken.set, SIGINT) ||
	    !sigismember(&taken.set, SIGTERM))
		return 5;
	return 0;
}

TEST(a_signal_that_a_thread_of_the_driver_gets_reaches_the_one_that_takes_it)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		sigset_t term;

		sigemptyset(&term);
		sigaddset(&term, SIGTERM);
		sigprocmask(SIG_SETMASK, &term, NULL);
		signal(SIGINT, SIG_DFL);
		signal(SIGHUP, SIG_IGN);
		signal(SIGCHLD, SIG_IGN);
		hes_signals_begin();
		_exit(check_taken());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* @return a set of signals below 32, of the text of /proc/PID/status; C libraries ignore 32 and 33
 */
static unsigned long long set_of(const char *text, const char *row)
{
	const char *at = strstr(text, row);

	return at ? strtoull(at + strlen(row), NULL, 16) & 0x7fffffff : ~0ull;
}

static bool has_sets(const char *text)
{
	return set_of(text, "SigBlk:") == 1ull << (SIGUSR1 - 1) && set_of(text, "SigIgn:") == 3;
}

static char *const command[] = { "cat", "/proc/self/status", NULL };

static bool spawned_has_sets(void)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	char text[8192] = "";
	int ends[2], status = -1;
	ssize_t n;
	pid_t pid;

	if (pipe(ends) || posix_spawnattr_init(&attr) || posix_spawn_file_actions_init(&files) ||
	    posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO) ||
	    hes_signals_spawn(&attr, 0) ||
	    posix_spawnp(&pid, command[0], &files, &attr, command, environ) ||
	    waitpid(pid, &status, 0) != pid || status)
		return false;
	n = read(ends[0], text, sizeof(text) - 1);
	return n > 0 && has_sets(text);
}

static bool job_has_sets(void)
{
	const struct hes_launch l = { .argv = (const char *const *)command,
				      .output_fd = memfd_create("output", MFD_CLOEXEC) };
	char text[8192] = "";
	struct hes_child c;

	if (hes_child_fork(&l, &c, NULL) || hes_child_go(&c, NULL) ||
	    poll(&(struct pollfd){ .fd = c.pidfd, .events = POLLIN }, 1, 60000) != 1)
		return false;
	hes_child_drop(&c);
	return pread(l.output_fd, text, sizeof(text) - 1, 0) > 0 && has_sets(text);
}

static bool helper_has_sets(void)
{
	const char *const none[] = { NULL };
	char text[8192] = "";
	int status;

	return !hes_spawn(command, none, "", NULL, 0, 60000, text, sizeof(text), &status, NULL) &&
	       has_sets(text);
}

TEST(programs_get_the_mask_and_the_ignored_signals_of_the_start)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		struct hes_signals taken;
		sigset_t mask;

		hes_signals_as_started();
		sigemptyset(&mask);
		sigaddset(&mask, SIGUSR1);
		sigprocmask(SIG_SETMASK, &mask, NULL);
		signal(SIGHUP, SIG_IGN);
		signal(SIGINT, SIG_IGN);
		hes_signals_begin();
		hes_signals_take(&taken, hes_signals_stop);
		signal(SIGPIPE, SIG_IGN);
		_exit(!spawned_has_sets() << 0 | !job_has_sets() << 1 | !helper_has_sets() << 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
