/*
 * spawn.c - run a program to its end, with a time limit; see spawn.h.
 */
#include "gpu/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/signals.h"

struct pipes {
	int in[2], out[2], errors[2];
};

/* What is kept of an output. */
struct text {
	char *v;
	size_t size, n;
};

static void close_all(struct pipes *p)
{
	for (int i = 0; i < 2; i++) {
		if (p->in[i] >= 0)
			close(p->in[i]);
		if (p->out[i] >= 0)
			close(p->out[i]);
		if (p->errors[i] >= 0)
			close(p->errors[i]);
	}
}

static int open_pipes(struct pipes *p, bool errors, struct hes_err *err)
{
	*p = (struct pipes){ { -1, -1 }, { -1, -1 }, { -1, -1 } };
	if (!pipe2(p->in, O_CLOEXEC) && !pipe2(p->out, O_CLOEXEC) &&
	    (!errors || !pipe2(p->errors, O_CLOEXEC)))
		return 0;
	close_all(p);
	return hes_fail(err, -errno, "a pipe: %s", strerror(errno));
}

static bool sets_variable(const char *variable, const char *const *variables)
{
	for (; *variables; variables++)
		if (strncmp(*variables, variable,
			    (size_t)(strchr(*variables, '=') - *variables) + 1) == 0)
			return true;
	return false;
}

/* Our environment, with @variables replacing those of the same name; free() it. @return NULL: no
 * memory */
static const char **environment(const char *const *variables)
{
	size_t n = 0, at = 0;
	const char **env;

	while (environ[n])
		n++;
	for (const char *const *v = variables; *v; v++)
		n++;
	env = calloc(n + 1, sizeof(*env));
	for (const char *const *v = variables; env && *v; v++)
		env[at++] = *v;
	for (char **e = environ; env && *e; e++)
		if (!sets_variable(*e, variables))
			env[at++] = *e;
	return env;
}

/*
 * Runs in the new process; the program may have threads. The process dies with us, so that it
 * changes nothing after our changes were undone. A daemon that it starts remains, and must not
 * inherit our descriptors.
 */
static void spawn_exec(char *const argv[], const char **env, const struct pipes *p, pid_t parent,
		       int report)
{
	int error;

	/* Jobs of all users connect to a daemon that it starts. */
	umask(022);
	hes_signals_as_started();
	if (!prctl(PR_SET_PDEATHSIG, SIGKILL) && getppid() == parent &&
	    dup2(p->in[0], STDIN_FILENO) >= 0 && dup2(p->out[1], STDOUT_FILENO) >= 0 &&
	    dup2(p->errors[1] < 0 ? p->out[1] : p->errors[1], STDERR_FILENO) >= 0 &&
	    !hes_close_but(report))
		execvpe(argv[0], argv, (char *const *)env);
	error = errno;
	while (write(report, &error, sizeof(error)) < 0 && errno == EINTR)
		;
	_exit(127);
}

/* Read the error with which the new process failed to run the program; 0: it runs. */
static int read_error(int from)
{
	int error = 0;
	ssize_t n;

	while ((n = read(from, &error, sizeof(error))) < 0 && errno == EINTR)
		;
	return n == sizeof(error) ? -error : 0;
}

static int spawn_start(char *const argv[], const char *const *variables, const struct pipes *p,
		       pid_t *pid)
{
	const char **env = environment(variables);
	pid_t parent = getpid(), child = -1;
	int report[2], rc = 0;

	if (!env)
		return -ENOMEM;
	if (pipe2(report, O_CLOEXEC))
		rc = -errno;
	if (!rc)
		child = fork();
	if (!rc && !child)
		spawn_exec(argv, env, p, parent, report[1]);
	free(env);
	if (rc)
		return rc;
	rc = child < 0 ? -errno : 0;
	close(report[1]);
	if (!rc)
		rc = read_error(report[0]);
	close(report[0]);
	if (rc && child > 0)
		waitpid(child, NULL, 0);
	*pid = child;
	return rc;
}

/* @return bytes that came; what does not fit is dropped */
static ssize_t text_read(struct text *t, int from)
{
	const bool full = t->n + 1 >= t->size;
	char dropped[4096];
	ssize_t got = full ? read(from, dropped, sizeof(dropped))
			   : read(from, t->v + t->n, t->size - 1 - t->n);

	t->n += !full && got > 0 ? (size_t)got : 0;
	return got;
}

/*
 * Read until the program has ended and its output is complete. A daemon may hold the pipe open, so
 * wait for the end of the program, not of the pipe.
 */
static int spawn_collect(pid_t pid, const struct pipes *p, int64_t until_ms, struct text text[2])
{
	int watch = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd fds[3] = { { .fd = p->out[0], .events = POLLIN },
				 { .fd = p->errors[0], .events = POLLIN },
				 { .fd = watch, .events = POLLIN } };
	int rc = watch < 0 ? -errno : 0;

	while (!rc) {
		int64_t left = until_ms - hes_monotonic_ms();
		int n = left > 0 ? poll(fds, 3, (int)left) : 0;
		bool came = false;

		if (n < 0 && errno != EINTR)
			rc = -errno;
		else if (n == 0)
			rc = -ETIMEDOUT;
		for (int i = 0; i < 2 && n > 0; i++) {
			if (!fds[i].revents)
				continue;
			if (text_read(&text[i], fds[i].fd) > 0)
				came = true;
			else
				fds[i].fd = -1;
		}
		if (n > 0 && !came && fds[2].revents)
			break;
	}
	for (int i = 0; i < 2; i++)
		if (text[i].size)
			text[i].v[text[i].n] = '\0';
	if (watch >= 0)
		close(watch);
	return rc;
}

int hes_spawn(char *const argv[], const char *const *variables, const char *input, char *errors,
	      size_t errors_size, int timeout_ms, char *output, size_t size, int *status,
	      struct hes_err *err)
{
	struct text text[2] = { { output, size, 0 }, { errors, errors ? errors_size : 0, 0 } };
	int64_t until = hes_monotonic_ms() + timeout_ms;
	struct pipes p;
	int rc = open_pipes(&p, errors != NULL, err), raw = 0;
	pid_t pid;

	if (rc)
		return rc;
	/* The input fits in the pipe: write it before the program starts. */
	if (write(p.in[1], input, strlen(input)) != (ssize_t)strlen(input))
		rc = -EIO;
	close(p.in[1]);
	p.in[1] = -1;
	if (!rc)
		rc = spawn_start(argv, variables, &p, &pid);
	if (rc) {
		close_all(&p);
		return hes_fail(err, rc, "%s: %s", argv[0], strerror(-rc));
	}
	close(p.out[1]);
	p.out[1] = -1;
	if (errors)
		close(p.errors[1]);
	p.errors[1] = -1;
	rc = spawn_collect(pid, &p, until, text);
	if (rc)
		kill(pid, SIGKILL);
	waitpid(pid, &raw, 0);
	close_all(&p);
	*status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
	return rc ? hes_fail(err, rc, "%s: %s", argv[0],
			     rc == -ETIMEDOUT ? "no answer; it was killed" : strerror(-rc))
		  : 0;
}
